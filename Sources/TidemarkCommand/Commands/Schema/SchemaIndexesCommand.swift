// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TidemarkAdministration
import TidemarkModel

/// `tidemark schema indexes`: lists the fields that can be queried.
struct SchemaIndexesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "indexes",
        abstract: "List the fields that queries can use.",
        discussion: """
              tidemark schema indexes notes.tide --environment production

            One line for each field that has an index. A system field is listed under its name in \
            schemas, such as ___recordID.
            """
    )

    @OptionGroup var store: StoreArgument
    @OptionGroup var place: EnvironmentOptions
    @OptionGroup var options: OutputOptions

    func run() async throws {
        try await store.ask { service in
            let schema = try await service.answer(
                SchemaCall(of: place.container, in: place.environment)
            )
            let fields = schema.recordTypes.flatMap { type in
                type.fields.filter { !$0.indexes.isEmpty }.map {
                    (type: type.name.string, field: $0)
                }
            }
            try options.print(
                fields,
                in: Table([("type", .left), ("field", .left), ("indexes", .left)]),
                json: { $0.append(json: $1.field, of: $1.type) },
                row: { [$0.type, $0.field.name.string, "\($0.field.indexes)"] }
            )
        }
    }
}

extension [UInt8] {
    fileprivate mutating func append(json field: Schema.Field, of type: String) {
        append(literal: "{")
        append(member: "recordType", jsonString: type)
        append(member: "field", jsonString: field.name.string)
        append(member: "type", jsonString: "\(field.type)")
        append(member: "indexes", jsonString: "\(field.indexes)")
        append(literal: "}")
    }
}

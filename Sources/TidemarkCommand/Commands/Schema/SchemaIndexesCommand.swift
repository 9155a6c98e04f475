// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TidemarkModel

/// `tidemark schema indexes`: which fields can be asked for.
struct SchemaIndexesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "indexes",
        abstract: "List the fields that queries can use.",
        discussion: """
            One line for each field that has an index. A system field is listed under its name in \
            schemas, such as ___recordID.
            """
    )

    @OptionGroup var store: StoreArgument
    @OptionGroup var container: ContainerOption

    @Option(help: "The container's environment.")
    var environment = Environment.development

    @OptionGroup var options: OutputOptions

    func run() async throws {
        try await store.read { store in
            let schema = try store.schema(of: container.id, in: environment)
            var output = StandardOutput()
            let isJSON = options.isJSON(output)
            var table = Table([("type", .left), ("field", .left), ("indexes", .left)])
            for type in schema.recordTypes {
                for field in type.fields where !field.indexes.isEmpty {
                    if isJSON {
                        try output.line { $0.append(json: field, of: type) }
                    } else {
                        table.append([type.name.string, field.name.string, "\(field.indexes)"])
                    }
                }
            }
            if !isJSON { for line in table.lines { try output.line(line) } }
            try output.flush()
        }
    }
}

extension [UInt8] {
    fileprivate mutating func append(json field: Schema.Field, of type: Schema.RecordType) {
        append(literal: "{\"recordType\":")
        append(jsonString: type.name.string)
        append(literal: ",\"field\":")
        append(jsonString: field.name.string)
        append(literal: ",\"type\":")
        append(jsonString: "\(field.type)")
        append(literal: ",\"indexes\":")
        append(jsonString: "\(field.indexes)")
        append(literal: "}")
    }
}

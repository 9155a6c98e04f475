// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TidemarkModel

/// `tidemark subscriptions list`: lists a user's subscriptions.
struct SubscriptionsListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List a user's subscriptions in a database.",
        discussion: """
              tidemark subscriptions list notes.tide --as _anna

            Prints one line for each subscription, ordered by id as UTF-8 bytes.
            """
    )

    @OptionGroup var store: StoreArgument
    @OptionGroup var database: DatabaseOptions
    @OptionGroup var caller: CallerOptions
    @OptionGroup var options: OutputOptions

    func run() async throws {
        try await store.askAsApp { service in
            try options.print(
                try await service.subscriptions(as: caller.caller(of: database.id)),
                in: Table([("id", .left), ("about", .left), ("fires", .left)]),
                json: { $0.append(json: $1) },
                row: \.cells
            )
        }
    }
}

extension Subscription {
    /// The subscription as a row for a person.
    fileprivate var cells: [String] {
        switch kind {
        case .query(let query):
            let zone = query.zone.map { " in \($0)" } ?? ""
            let events = query.options.webNames.joined(separator: ", ")
            let once = query.options.contains(.once) ? ", once" : ""
            return [
                id, "\(query.recordType) where \(query.predicate)\(zone)",
                events + once,
            ]
        case .zone(let zone, let type):
            return [id, "zone \(zone)\(Self.suffix(type))", ""]
        case .database(let type):
            return [id, "database\(Self.suffix(type))", ""]
        }
    }

    private static func suffix(_ type: Name?) -> String { type.map { ", \($0) alone" } ?? "" }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TidemarkModel

/// `tidemark subscriptions remove`: removes a subscription of a user.
struct SubscriptionsRemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Delete subscriptions.",
        discussion: """
              tidemark subscriptions remove notes.tide open lists

            Prints one line for each id. Deleting a subscription that does not exist succeeds. \
            Notifications that it made stay.
            """
    )

    @OptionGroup var store: WrittenStoreArgument

    @Argument(help: "The ids of the subscriptions.")
    var ids: [String]

    @OptionGroup var database: DatabaseOptions
    @OptionGroup var caller: CallerOptions
    @OptionGroup var options: OutputOptions

    func run() async throws {
        try await store.act { service in
            let request = ModifySubscriptionsRequest(deletions: ids)
            let caller = caller.caller(of: database.id)
            let result = try await service.modifySubscriptions(request, as: caller)
            var output = ItemOutput(options)
            for (id, outcome) in zip(ids, result.deletions) {
                output.add("deleted", .subscription(id), outcome.map { _ in nil })
            }
            try output.finish()
        }
    }
}

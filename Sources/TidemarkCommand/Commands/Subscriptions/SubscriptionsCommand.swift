// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// `tidemark subscriptions`: lists the commands about subscriptions, and lists subscriptions if none
/// is named.
struct SubscriptionsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "subscriptions",
        abstract: "List, add and remove subscriptions, and read the notifications they bring.",
        subcommands: [
            SubscriptionsListCommand.self, SubscriptionsAddCommand.self,
            SubscriptionsRemoveCommand.self, SubscriptionsNotificationsCommand.self,
        ],
        defaultSubcommand: SubscriptionsListCommand.self
    )
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import ArgumentParser
import Foundation
import TidemarkModel
import TidemarkServer

struct WebhooksCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "webhooks",
        abstract: "Add, list and remove webhooks: addresses to which a server posts notifications.",
        subcommands: [
            WebhooksAddCommand.self, WebhooksListCommand.self, WebhooksRemoveCommand.self,
        ]
    )
}

struct WebhooksAddCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract: "Add a webhook, and print the secret that signs its requests.",
        discussion: """
              tidemark webhooks add notes.tide https://example.org/hook --key KEY

            The server posts the notifications of a key's or a user's subscriptions, beginning \
            with the next one.
            """
    )

    @OptionGroup var store: WrittenStoreArgument

    @Argument(help: "The address: https://HOST/PATH.")
    var url: String

    @OptionGroup var place: EnvironmentOptions

    @Option(help: ArgumentHelp("The key whose subscriptions the webhook serves.", valueName: "id"))
    var key: String?

    @Option(
        help: ArgumentHelp(
            "The record name of the user whose subscriptions the webhook serves.",
            valueName: "name"
        )
    )
    var user: String?

    func validate() throws {
        guard (key == nil) != (user == nil) else {
            throw ValidationError("Name a key or a user.")
        }
    }

    func run() async throws {
        let webhook = Webhook(
            url: url,
            container: place.container,
            environment: place.environment,
            key: key,
            user: user ?? ""
        )
        try StandardOutput.print(try await store.administer(.addWebhook(webhook)).text)
    }
}

struct WebhooksListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the webhooks, with the result of their last requests.",
        discussion: "  tidemark webhooks list notes.tide"
    )

    @OptionGroup var store: WrittenStoreArgument
    @OptionGroup var output: OutputOptions

    func run() async throws {
        try output.print(
            try await store.administer(.webhooks).webhooks,
            in: Table([
                ("webhook", .left), ("url", .left), ("container", .left), ("environment", .left),
                ("user", .left), ("state", .left),
            ])
        ) { bytes, webhook in
            bytes.append(literal: "{")
            bytes.append(member: "webhook", jsonString: webhook.id.text)
            bytes.append(member: "url", jsonString: webhook.url)
            bytes.append(member: "container", jsonString: webhook.container)
            bytes.append(member: "environment", jsonString: webhook.environment)
            bytes.append(member: "user", jsonString: webhook.user)
            bytes.append(member: "failure", jsonString: webhook.failure)
            bytes.append(member: "disabled", jsonBool: webhook.isDisabled)
            bytes.append(literal: "}")
        } row: { webhook in
            let state =
                webhook.failure.isEmpty
                ? "" : (webhook.isDisabled ? "disabled: " : "fails: ") + webhook.failure
            return [
                webhook.id.text, webhook.url, webhook.container, webhook.environment, webhook.user,
                state,
            ]
        }
    }
}

struct WebhooksRemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Remove a webhook.",
        discussion: "  tidemark webhooks remove notes.tide WEBHOOK"
    )

    @OptionGroup var store: WrittenStoreArgument

    @Argument(help: "The webhook, as `webhooks list` names it.")
    var webhook: String

    func run() async throws {
        try await store.administer(.removeWebhook(webhook))
    }
}
#endif

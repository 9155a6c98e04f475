// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import Foundation
public import TidemarkDatabase
public import TidemarkModel

/// The address of a program to which a user's notifications are posted.
public struct Webhook: RecordCodable, Sendable {
    /// The name of its records.
    public static let recordType = "Webhook"
    /// A random name.
    public var id: RecordName
    /// The address, with `https`.
    public var url: String
    /// The container's identifier.
    public var container: String
    /// The environment's name.
    public var environment: String
    /// The key whose notifications are posted; `nil` if they are a user's.
    public var key: String?
    /// The record name of the user whose notifications are posted.
    public var user: String
    /// The change token after the last posted notification.
    public var position = ""
    /// The time since which nothing could be posted, in milliseconds since 1970; zero if the last
    /// attempt worked.
    public var failingSince: Int64 = 0
    /// The reason for which the last attempt failed; empty if it worked.
    public var failure = ""
    /// True if nothing is posted any more, after a day of failures.
    public var isDisabled = false

    /// Creates a webhook for the notifications of a key or of a user.
    public init(
        url: String,
        container: ContainerID,
        environment: Environment,
        key: String? = nil,
        user: String = ""
    ) {
        id = RecordName([UInt8].random(8).hexadecimal)
        self.url = url
        self.container = container.identifier
        self.environment = environment.rawValue
        self.key = key
        self.user = user
    }

    /// The caller whose notifications are posted; `nil` for a record that no server wrote.
    var caller: Caller? {
        guard let environment = Environment(rawValue: environment), !user.isEmpty else {
            return nil
        }
        return Caller(
            database: DatabaseID(
                container: ContainerID(container),
                environment: environment,
                scope: .private,
                owner: UserID(user)
            ),
            user: UserID(user),
            device: "webhook-\(id.text)",
            // A user's webhook belongs to no session, because sessions end. An administrator added
            // it.
            authentication: key.map { .serverKey(id: $0) } ?? .administrator(id: "webhook")
        )
    }

    /// Throws unless the address is one to which a request can be posted.
    func checkAddress() throws {
        let parts = URLComponents(string: url)
        guard let parts, ["https", "http"].contains(parts.scheme), parts.host?.isEmpty == false,
            parts.user == nil, parts.password == nil, parts.fragment == nil
        else {
            throw SyncError(
                .invalidArguments,
                "\"\(url)\" is not the address of a webhook.",
                remedy: "Write https://HOST/PATH, without a name, a password or a fragment."
            )
        }
    }
}

extension Directory {
    /// Adds a webhook for future notifications, and returns the secret that signs its requests.
    func addWebhook(_ wanted: Webhook) async throws -> String {
        try wanted.checkAddress()
        try ContainerID(wanted.container).checkNotReserved()
        var webhook = wanted
        if let id = webhook.key {
            guard let key = try await key(id), key.container == webhook.container,
                key.environment == webhook.environment
            else {
                throw SyncError(
                    .unknownItem,
                    "There is no key \(id) in \(webhook.container), \(webhook.environment).",
                    remedy: "Give the id that `tidemark keys list` prints in its first column."
                )
            }
            webhook.user = key.user.userRecordName
        }
        guard let caller = webhook.caller else {
            throw SyncError(.invalidArguments, "A webhook needs a key or a user; name one.")
        }
        webhook.position = try await store.notificationToken(as: caller).description
        try await registry.webhooks.save(webhook)
        return webhookSecret(of: webhook)
    }

    /// Every webhook, oldest first.
    public func webhooks() async throws -> [Stored<Webhook>] {
        try await registry.webhooks.all(Webhook.self)
    }

    /// Removes a webhook.
    func removeWebhook(_ id: String) async throws {
        let name = RecordName(id)
        guard try await registry.webhooks.fetchIfPresent(Webhook.self, name) != nil else {
            throw SyncError(
                .unknownItem,
                "There is no webhook \(id).",
                remedy: "Give what `tidemark webhooks list` prints in its first column."
            )
        }
        try await registry.webhooks.delete(name)
    }

    /// Returns the secret of a webhook, in the form of Standard Webhooks.
    ///
    /// It is derived from the server's key, so that the store does not contain it.
    func webhookSecret(of webhook: Webhook) -> String {
        let bytes = webhookKey(of: webhook)
        return "whsec_" + Data(bytes).base64EncodedString()
    }

    func webhookKey(of webhook: Webhook) -> [UInt8] {
        secret.code(of: webhook.id.text.utf8, for: "webhook")
    }
}
#endif

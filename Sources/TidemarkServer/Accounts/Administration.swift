// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import Foundation
import TidemarkModel

/// A request of an administrator to a server's directory.
///
/// It can be sent to a directory in this process, or to a running server: see
/// ``AdministrationSocket``.
public enum AdministrationRequest: Codable, Sendable {
    /// Creates an API token; the answer is its text.
    case makeToken(APIToken)
    /// Lists the tokens.
    case tokens
    /// Ends a token, by its text or the name of its record.
    case revokeToken(String)
    /// Registers the public half of a key, in PEM; the answer is its id.
    case addKey(ServerKey)
    /// Lists the keys.
    case keys
    /// Ends a key.
    case revokeKey(String)
    /// Creates an account.
    case addAccount(email: String, password: String, givenName: String, familyName: String)
    /// Lists the accounts.
    case accounts
    /// Sets a password, and ends all sessions of the account.
    case setPassword(String, account: String)
    /// Locks or unlocks an account.
    case setLocked(Bool, account: String)
    /// Ends all sessions of an account.
    case endSessions(account: String)
    /// Removes an account; the answer is the name under which it can be erased.
    case removeAccount(String)
    /// Creates the path of a link for an invitation.
    case invite(email: String)
    /// Creates the path of a link with which a password is reset.
    case reset(account: String)
    /// Lists the sessions that have not ended, of one account or of all.
    case sessions(account: String?)
    /// Ends a session.
    case endSession(String)
    /// Adds a webhook; the answer is the secret with which its requests are signed.
    case addWebhook(Webhook)
    /// Lists the webhooks.
    case webhooks
    /// Removes a webhook.
    case removeWebhook(String)
    /// Lists the containers.
    case containers
    /// Sets the limits of a container.
    case setContainer(ContainerLimits)
    /// Closes a container, by its identifier.
    case closeContainer(String)
}

/// The answer of a directory to an administrator; members that were not requested are empty.
public struct AdministrationAnswer: Codable, Sendable {
    /// A session, as administrators see it.
    public struct SessionEntry: Codable, Sendable {
        /// The name of its record.
        public var id: String
        /// The address of the account.
        public var email: String
        /// The container's identifier.
        public var container: String
        /// The environment's name.
        public var environment: String
        /// The user that the account is there.
        public var user: String
        /// The time at which it began, in milliseconds since 1970.
        public var begun: Int64
    }

    /// The token, key id or link that was created, or the name of the account that was removed.
    public var text = ""
    /// The address of the server, which a link begins with; `nil` if none runs.
    public var address: String?
    /// The tokens.
    public var tokens: [APIToken] = []
    /// The keys.
    public var keys: [ServerKey] = []
    /// The accounts, without the hashes of their passwords.
    public var accounts: [Account] = []
    /// The sessions, oldest first.
    public var sessions: [SessionEntry] = []
    /// The webhooks, oldest first.
    public var webhooks: [Webhook] = []
    /// The containers.
    public var containers: [ContainerEntry] = []

    init() {}
}

extension Directory {
    /// Performs a request of an administrator.
    public func answer(_ request: AdministrationRequest) async throws -> AdministrationAnswer {
        var answer = AdministrationAnswer()
        switch request {
        case .makeToken(let wanted): answer.text = try await makeToken(wanted)
        case .tokens: answer.tokens = try await tokens().map(\.value)
        case .revokeToken(let id): try await revokeToken(id)
        case .addKey(let key): answer.text = try await addKey(key)
        case .keys: answer.keys = try await keys().map(\.value)
        case .revokeKey(let id): try await revokeKey(id)
        case .addAccount(let email, let password, let givenName, let familyName):
            try await addAccount(
                email: email,
                password: password,
                givenName: givenName,
                familyName: familyName
            )
        case .accounts:
            answer.accounts = try await accounts().map { stored in
                var account = stored.value
                account.password = ""
                return account
            }
        case .setPassword(let password, let email):
            try await setPassword(password, ofAccount: email)
        case .setLocked(let isLocked, let email): try await setLocked(isLocked, account: email)
        case .endSessions(let email):
            try await endSessions(ofAccount: try await existingAccount(email).id.text)
        case .removeAccount(let email): answer.text = try await removeAccount(email)
        case .invite(let email):
            guard try await account(email: email) == nil else {
                throw SyncError(
                    .constraintViolation,
                    "An account with the address \(email) already exists."
                )
            }
            answer.text = try invitationPath(for: email)
            answer.address = state.withLock { $0.address }
        case .reset(let email):
            answer.text = try await resetPath(ofAccount: email)
            answer.address = state.withLock { $0.address }
        case .sessions(let email): answer.sessions = try await entries(of: email)
        case .endSession(let id):
            do {
                try await endSession(id)
            } catch let error as SyncError where error.code == .unknownItem {
                throw SyncError(
                    .unknownItem,
                    "There is no session \(id).",
                    remedy: "`tidemark sessions list` lists them."
                )
            }
        case .addWebhook(let webhook): answer.text = try await addWebhook(webhook)
        case .webhooks: answer.webhooks = try await webhooks().map(\.value)
        case .removeWebhook(let id): try await removeWebhook(id)
        case .containers: answer.containers = try await containerEntries()
        case .setContainer(let limits): try await setLimits(limits)
        case .closeContainer(let identifier): try await closeContainer(identifier)
        }
        return answer
    }

    private func entries(
        of email: String?
    ) async throws -> [AdministrationAnswer.SessionEntry] {
        var account: String?
        if let email { account = try await existingAccount(email).id.text }
        let emails = Dictionary(
            try await accounts().map { ($0.value.id.text, $0.value.email) }
        ) { first, _ in first }
        return try await sessions(ofAccount: account).map { session in
            AdministrationAnswer.SessionEntry(
                id: session.value.id.text,
                email: emails[session.value.account] ?? "",
                container: session.value.container,
                environment: session.value.environment,
                user: session.value.user,
                begun: session.record.created.time
            )
        }
    }
}
#endif

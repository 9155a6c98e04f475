// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import Tidemark
import TidemarkDatabase
import TidemarkModel

/// Removing accounts, and what lets a user in.
extension Directory {
    /// Removes an account with its sessions, couriers and webhooks, and returns the name under which
    /// the account can be erased.
    ///
    /// The data of its users stays.
    public func removeAccount(_ email: String) async throws -> String {
        guard let account = try await account(email: email) else { throw Self.noAccount(email) }
        let name = account.id.text
        try await removeCredentials(of: UserID(name))
        return name
    }

    /// Removes the sessions, couriers and webhooks of a user; of an account, also the account, and
    /// those of its users in all containers.
    func removeCredentials(of user: UserID) async throws {
        let name = user.userRecordName
        // The account first: without it, no new session begins.
        if user.isServerAccount, let account = try await account(named: name) {
            try await registry.accounts.modify { batch in
                batch.delete(AccountAddress.recordName(of: account.email))
                batch.delete(account.id)
            }
        }
        forget(user)
        func isMeant(_ other: String, _ container: String) -> Bool {
            if other == name { return true }
            guard user.isServerAccount else { return false }
            return UserID(serverAccount: name, in: ContainerID(container)) == UserID(other)
        }
        for session in try await registry.sessions.all(Session.self).map(\.value)
        where session.account == name || isMeant(session.user, session.container) {
            try await registry.sessions.delete(session.id)
            knownSessions.drop(session.id.text)
        }
        for courier in try await registry.couriers.all(CourierToken.self).map(\.value)
        where courier.account == name || isMeant(courier.user, courier.container) {
            try await registry.couriers.delete(courier.id)
        }
        for webhook in try await registry.webhooks.all(Webhook.self).map(\.value)
        where isMeant(webhook.user, webhook.container) {
            try await registry.webhooks.delete(webhook.id)
        }
    }

    /// Drops an account from memory.
    func forget(_ user: UserID) { knownAccounts.drop(user.userRecordName) }
}
#endif

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
    /// The data of its users stays, without their address and name.
    public func removeAccount(_ email: String) async throws -> String {
        let account = try await existingAccount(email)
        let name = account.id.text
        let sessions = try await registry.sessions.all(Session.self).map(\.value)
        try await removeCredentials(of: UserID(name))
        try await giveUpAddress(
            of: account,
            in: sessions.filter { $0.account == name }.map { ContainerID($0.container) }
        )
        return name
    }

    /// Takes the address and the name of a removed account from its users, so that an account that
    /// is created later can have the address.
    ///
    /// `visited` are containers to which the account was signed in, which may have no zones yet.
    private func giveUpAddress(
        of account: Account,
        in visited: [ContainerID]
    ) async throws {
        let containers = Set(visited + (try store.containers())).subtracting([.server])
        for container in containers {
            let user = account.user(in: container)
            for environment in Environment.allCases {
                guard var told = try store.account(of: user, of: container, in: environment),
                    !told.emails.isEmpty || told.name != PersonName()
                else { continue }
                told.emails = []
                told.name = PersonName()
                told.isDiscoverable = false
                try await store.setUser(told, of: container, in: environment)
            }
        }
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
        // A sign-in deletes the session that it has just begun if the account is gone. Deleting it again
        // succeeds.
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

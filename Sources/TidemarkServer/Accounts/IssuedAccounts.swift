// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import TidemarkDatabase
import TidemarkModel

/// Accounts without a password, of people whom an OpenID Connect issuer knows.
extension Directory {
    /// Returns the account of an issuer's subject; creates it if `creates` is true and there is none.
    func account(
        ofSubject subject: String,
        of issuer: String,
        creates: Bool
    ) async throws -> Account? {
        // The length separates the two parts: no other issuer and subject have the same name.
        let digest = [UInt8].sha256("issuer|\(issuer.utf8.count)|\(issuer)|\(subject)")
        let id = Account.recordName(digest.prefix(16).hexadecimal)
        return try await knownAccounts.credential(id.text) {
            if let known = try await self.account(named: id.text) { return known }
            guard creates else { return nil }
            // The address of a token is not used: an issuer may let people choose it, and it could
            // be that of somebody else's account. A sign-up rejects this one, which has no @.
            var new = Account(
                id: id,
                email: id.text,
                givenName: "",
                familyName: "",
                password: ""
            )
            new.issuer = issuer
            new.subject = subject
            do {
                try await add(new)
            } catch let error as SyncError where error.code == .constraintViolation {
                // Another request of the person was faster.
                return try await self.account(named: id.text)
            }
            return new
        }
    }

    /// Returns the account that a client's token named; `nil` if it no longer accepts that token.
    func account(named name: String, acceptingTokenOf issued: Int64?) async throws -> Account? {
        let account = try await knownAccounts.credential(name) {
            try await self.account(named: name)
        }
        return account.flatMap { $0.accepts(tokenOf: issued) ? $0 : nil }
    }

    /// Ends all tokens that an issuer has signed for an account; does nothing for other accounts.
    func refuseEarlierTokens(ofAccount name: String) async throws {
        guard try await account(named: name)?.issuer != nil else { return }
        let now = Clock.now()
        try await registry.accounts.update(Account.self, RecordName(name)) { $0.signedOut = now }
        knownAccounts.drop(name)
    }

    /// Returns the account with an address; throws if there is none, or if it has no password.
    func accountWithPassword(_ email: String) async throws -> Account {
        let account = try await existingAccount(email)
        guard let issuer = account.issuer else { return account }
        throw SyncError(
            .invalidArguments,
            "The account \(email) has no password, because its user signs in at \(issuer).",
            remedy: "Change the password there."
        )
    }
}

extension Account {
    /// Returns true if a token of the account's issuer is accepted that was issued at a time.
    func accepts(tokenOf issued: Int64?) -> Bool {
        guard !isLocked else { return false }
        guard let signedOut else { return true }
        // A token without a time could be from before.
        return issued.map { $0 > signedOut } ?? false
    }
}
#endif

// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import TidemarkDatabase
import TidemarkModel
import TidemarkWire

extension CourierToken {
    /// Names the client of a request, and leaves the position open.
    init(_ token: String, _ found: Callers.Found) {
        let caller = found.caller
        id = Self.recordName(of: token)
        container = caller.database.container.identifier
        environment = caller.database.environment.rawValue
        user = caller.user?.userRecordName ?? ""
        device = caller.device ?? ""
        session = found.session?.id.text
        account = found.signIn?.account
        issuer = found.signIn?.issuer
        issued = found.signIn?.issued
        end = found.signIn?.end
        if case .serverKey(let id) = caller.authentication { key = id }
        self.token = found.token?.id.text
        position = ""
    }

    /// Returns true if another token has the same client with the same credentials.
    func isSameClient(as other: CourierToken) -> Bool {
        var other = other
        other.position = position
        return self == other
    }

    /// The signing in at an issuer; `nil` for a session or a key.
    fileprivate var signIn: IssuedSignIn? {
        guard let account, let issuer, let end else { return nil }
        return IssuedSignIn(account: account, issuer: issuer, issued: issued, end: end)
    }

    /// The caller of the client; `nil` for a record that no server wrote.
    var caller: Caller? {
        guard let environment = Environment(rawValue: environment) else { return nil }
        return Caller(
            database: DatabaseID(
                container: ContainerID(container),
                environment: environment,
                scope: .private,
                owner: UserID(user)
            ),
            user: UserID(user),
            device: device,
            // Only a damaged record has none of them, and `isGood` is false for it.
            authentication: Authentication(session: session, key: key, issuer: issuer)
        )
    }
}

extension Directory {
    /// Returns true if the credentials of a request are still valid.
    ///
    /// A request without a user has only its API token.
    func isGood(_ found: Callers.Found) async throws -> Bool {
        let token = found.token?.id.text
        if found.caller.user == nil, let token { return try await self.token(named: token) != nil }
        var key: String?
        if case .serverKey(let id) = found.caller.authentication { key = id }
        let session = found.session?.id.text
        return try await isGood(
            key: key,
            session: session,
            signIn: found.signIn,
            token: token,
            isUse: true
        )
    }

    /// Returns true if the credentials with which a client began to listen are still valid.
    ///
    /// `isUse` is true for a request of the client, which uses its session.
    func isGood(_ client: CourierToken, isUse: Bool = true) async throws -> Bool {
        try await isGood(
            key: client.key,
            session: client.session,
            signIn: client.signIn,
            token: client.token,
            isUse: isUse
        )
    }

    private func isGood(
        key: String?,
        session: String?,
        signIn: IssuedSignIn?,
        token: String?,
        isUse: Bool
    ) async throws -> Bool {
        // A key needs no API token.
        if let key { return try await self.key(key) != nil }
        guard let token, try await self.token(named: token) != nil else { return false }
        if let signIn {
            guard Clock.now() < signIn.end else { return false }
            return try await account(named: signIn.account, acceptingTokenOf: signIn.issued) != nil
        }
        guard let session else { return false }
        // Last, because a use prolongs the session. A revoked API token must not do that.
        return try await keepsSession(session, isUse: isUse)
    }
}
#endif

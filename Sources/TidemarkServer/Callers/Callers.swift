// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import TidemarkModel
import TidemarkWire

/// The authentication of requests.
///
/// No other type creates the caller of a request.
struct Callers: Sendable {
    let directory: Directory
    let issuers: Issuers
    /// True if the first token of a person creates an account.
    let allowsSignUp: Bool
    let seen = SeenSignatures()

    /// The sender of a request.
    struct Found {
        var caller: Caller
        /// The session of the signed-in user; `nil` if nobody is signed in on this server.
        var session: Session?
        /// The signing in at an issuer; `nil` if the request has no token of an issuer.
        var signIn: IssuedSignIn?
        /// The token of the request; `nil` if the request is signed.
        var token: APIToken?
    }

    /// The container, environment, database scope and endpoint in the path of a request.
    struct Place {
        let container: ContainerID
        let environment: Environment
        let scope: DatabaseScope
        let endpoint: String

        /// True if the endpoint is for signed-in users: the identities of others, and shares, whose
        /// records are in private databases.
        var isForUsers: Bool {
            let ofShares = [
                "records/resolve", "records/accept", "shareMetadata", "acceptShare",
                "requestShareAccess",
            ]
            // `setUpAuth()` of CloudKit JS asks who the key's own user is.
            let ofCaller = ["users/caller", "users/current"]
            return endpoint.hasPrefix("users/") && !ofCaller.contains(endpoint)
                || ofShares.contains(endpoint)
        }
    }

    /// Returns the token that a request names, even if it is for another place.
    func token(_ incoming: Incoming) async throws(WebError) -> APIToken? {
        guard let text = incoming.query["ckAPIToken"] else { return nil }
        return try await answered { try await directory.token(text) }
    }

    /// Finds the sender of a request.
    func find(
        _ incoming: Incoming,
        _ body: [UInt8],
        _ token: APIToken?,
        for place: Place
    ) async throws(WebError) -> Found {
        if let keyID = incoming.header(.keyID) {
            return Found(caller: try await signer(keyID, incoming, body, place))
        }
        guard let token, token.container == place.container.identifier,
            token.environment == place.environment.rawValue
        else { throw .authenticationFailed }
        if let origin = incoming.origin, !token.allows(origin) {
            throw .accessDenied("The API token is not for pages of \(origin)")
        }
        if let bearer = incoming.bearer {
            return try await holder(of: bearer, incoming, token, place)
        }
        let session = try await session(incoming, place)
        let user = session.map { UserID($0.user) }
        let caller = caller(
            incoming,
            place,
            user,
            session.map { .session(id: $0.id.text) } ?? .inProcess,
            device: session.map { "web-" + $0.id.text.prefix(8) } ?? "web"
        )
        return Found(caller: caller, session: session, token: token)
    }

    /// Returns the session of a request; `nil` if the request names none.
    ///
    /// Throws `AUTHENTICATION_REQUIRED` for a session that has ended, is invalid, or is for another
    /// container or environment.
    private func session(
        _ incoming: Incoming,
        _ place: Place
    ) async throws(WebError) -> Session? {
        guard let text = incoming.query["ckWebAuthToken"] ?? incoming.query["ckSession"],
            !text.isEmpty
        else { return nil }
        let session = try await answered {
            try await directory.session(ofWebToken: text)
        }
        guard let session, session.container == place.container.identifier,
            session.environment == place.environment.rawValue
        else { throw .authenticationRequired }
        return session
    }

    /// Returns the person whom the token of an issuer names.
    private func holder(
        of text: String,
        _ incoming: Incoming,
        _ token: APIToken,
        _ place: Place
    ) async throws(WebError) -> Found {
        let (identity, account) = try await answered {
            () async throws -> (Issuers.Identity, Account?) in
            let identity = try await issuers.identity(of: text, in: place.container)
            let account = try await directory.account(
                ofSubject: identity.subject,
                of: identity.issuer,
                creates: allowsSignUp
            )
            return (identity, account)
        }
        guard let account else {
            throw .refusedCredential(
                "The user of the bearer token has no account, and cannot create one."
            )
        }
        guard account.accepts(tokenOf: identity.issued) else {
            throw .refusedCredential(
                "The account is locked, or was signed out after the bearer token was issued."
            )
        }
        let caller = caller(
            incoming,
            place,
            account.user(in: place.container),
            .identityProvider(issuer: identity.issuer),
            // A client without a name of its own is another device with each token.
            device: "token-" + [UInt8].sha256(text).prefix(4).hexadecimal
        )
        let signIn = IssuedSignIn(
            account: account.id.text,
            issuer: identity.issuer,
            issued: identity.issued,
            end: identity.end
        )
        return Found(caller: caller, signIn: signIn, token: token)
    }

    /// Returns the user of the key that signed a request.
    private func signer(
        _ keyID: String,
        _ incoming: Incoming,
        _ body: [UInt8],
        _ place: Place
    ) async throws(WebError) -> Caller {
        let now = Clock.now()
        guard let date = incoming.header(.signatureDate),
            let text = incoming.header(.signature),
            place.scope == .public, !place.isForUsers,
            let key = try await answered({ try await directory.key(keyID) }),
            key.container == place.container.identifier,
            key.environment == place.environment.rawValue
        else { throw .authenticationFailed }
        let signature = RequestSignature(keyID: keyID, date: date, signature: text)
        // In this order, only valid signatures are remembered. Otherwise anyone could fill the
        // table.
        guard signature.isValid(for: body, target: incoming.target, key, now: now),
            try seen.takes(signature, now: now)
        else { throw .authenticationFailed }
        return caller(incoming, place, key.user, .serverKey(id: keyID), device: "server")
    }

    private func caller(
        _ incoming: Incoming,
        _ place: Place,
        _ user: UserID?,
        _ authentication: Authentication,
        device: String
    ) -> Caller {
        Caller(
            database: DatabaseID(
                container: place.container,
                environment: place.environment,
                scope: place.scope,
                owner: user ?? .current
            ),
            user: user,
            device: incoming.query["clientId"].flatMap { $0.isEmpty ? nil : $0 } ?? device,
            requestID: incoming.header(.tidemarkRequestID),
            authentication: authentication,
            trace: incoming.trace
        )
    }

    /// Calls the directory, and translates its errors.
    private func answered<Value>(
        _ question: () async throws -> Value
    ) async throws(WebError) -> Value {
        do {
            return try await question()
        } catch {
            throw WebError(any: error)
        }
    }
}

extension WebError {
    /// Translates any error; an unexpected one gets no details.
    init(any error: any Error) {
        switch error {
        case let error as WebError: self = error
        case let error as SyncError: self.init(error)
        default:
            self.init("INTERNAL_ERROR", status: 500, "The server failed")
            cause = "\(error)"
        }
    }
}
#endif

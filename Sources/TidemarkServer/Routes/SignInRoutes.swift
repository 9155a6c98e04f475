// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import HTTPTypes
import Hummingbird
import NIOCore
import TidemarkModel
import TidemarkWire

/// The content of the sign-in page's address: it is valid once, for ten minutes, for one token.
private struct SignInState: Codable {
    static let purpose = "sign in"
    static let lifetime: Int64 = 10 * 60_000
    /// The name of the token's record.
    var token: String
    /// The page that opens the window.
    var origin: String?
    var nonce: String
    var end: Int64
}

/// `/signin`: the pages on which users sign in.
extension Server {
    /// Creates the address at which the user of a request signs in.
    func signInURL(_ token: APIToken, _ incoming: Incoming) -> String {
        let state = SignInState(
            token: token.id.text,
            // The page after signing in posts the web auth token to this origin and to no other.
            origin: incoming.scriptOrigin.flatMap { token.allows($0) ? $0 : nil },
            nonce: UniqueName.make(),
            end: Clock.now() + SignInState.lifetime
        )
        let text = (try? directory.secret.sealed(state, for: SignInState.purpose)) ?? ""
        return "\(incoming.baseURL)/signin?s=\(text)"
    }

    func signInPage(_ request: Request) async -> Response {
        let incoming = Incoming(request, options)
        do {
            // A person may begin here, without an app.
            if let token = try await callers.token(incoming) {
                var response = Response(status: .found)
                response.headers[.location] = signInURL(token, incoming)
                return response
            }
            let (_, token) = try await opened(incoming.query["s"])
            return page(token, incoming.query["s"] ?? "", isSignUp: incoming.query["new"] != nil)
        } catch {
            return Page.message("This page is no longer valid", WebError(any: error).reason)
        }
    }

    func signIn(_ request: Request, from address: SocketAddress?) async -> Response {
        let incoming = Incoming(request, options, from: address)
        var token: APIToken?
        var form = QueryMembers()
        do {
            form = PercentCoding.form(try await incoming.collected(upTo: 16 << 10))
            let (state, found) = try await opened(form["s"])
            token = found
            try incoming.checkIsOwnForm()
            // By address and by account: one client must not try many accounts, nor many clients
            // one account.
            try limits.take(.signIn, of: incoming.address)
            try limits.take(.signIn, of: form["email"].map { Account.normalized($0) })
            let account = try await account(form)
            // After the password is checked, so a person can correct a wrong one on the same page.
            guard signIns.begins(state.nonce, until: state.end) else {
                throw WebError.notFound(
                    "This page has already been used. Go back to the app and sign in from there."
                )
            }
            guard let environment = TidemarkModel.Environment(rawValue: found.environment) else {
                throw WebError.authenticationFailed
            }
            let web = try await directory.signIn(
                account,
                to: ContainerID(found.container),
                in: environment,
                isKept: form["keep"] != nil,
                isDiscoverable: found.asksDiscoverable ? form["discoverable"] != nil : nil
            )
            return finished(web, found, state.origin, environment)
        } catch {
            guard let token else {
                return Page.message("This page is no longer valid", WebError(any: error).reason)
            }
            return page(
                token,
                form["s"] ?? "",
                isSignUp: form["new"] != nil,
                form,
                problem: WebError(any: error).reason
            )
        }
    }

    /// Returns the account that a form names, or creates it if the form asks for that.
    private func account(_ form: QueryMembers) async throws -> Account {
        let email = form["email"] ?? ""
        let password = form["password"] ?? ""
        if form["new"] != nil {
            guard options.allowsSignUp else {
                throw WebError.accessDenied(
                    "Only an administrator can create accounts. Ask one for an account."
                )
            }
            return try await directory.addAccount(
                email: email,
                password: password,
                givenName: form["given"] ?? "",
                familyName: form["family"] ?? ""
            )
        }
        guard let account = try await directory.account(email: email, password: password) else {
            throw WebError.refusedCredential("The address or the password is wrong.")
        }
        return account
    }

    private func opened(_ text: String?) async throws -> (SignInState, APIToken) {
        let secret = directory.secret
        guard let text,
            let state = secret.opened(text, for: SignInState.purpose, as: SignInState.self),
            Clock.now() < state.end,
            let token = try await directory.token(named: state.token)
        else {
            throw WebError.notFound("Go back to the app and sign in from there.")
        }
        return (state, token)
    }

    private func page(
        _ token: APIToken,
        _ state: String,
        isSignUp: Bool,
        _ form: QueryMembers = QueryMembers(),
        problem: String? = nil
    ) -> Response {
        Page.signIn(
            Page.SignIn(
                container: token.container,
                state: state,
                isSignUp: isSignUp && options.allowsSignUp,
                allowsSignUp: options.allowsSignUp,
                asksDiscoverable: token.asksDiscoverable,
                form: form,
                problem: problem,
                callback: token.callback
            )
        )
    }

    /// Passes the session's first token to the app.
    private func finished(
        _ web: String,
        _ token: APIToken,
        _ origin: String?,
        _ environment: TidemarkModel.Environment
    ) -> Response {
        if let callback = token.callback {
            let separator = callback.contains("?") ? "&" : "?"
            let text = PercentCoding.encoded(web)
            // The address holds the token: the page behind it must not pass it on as `Referer`, and
            // no cache may keep it.
            var response = Response(status: .found)
            response.headers[.location] =
                "\(callback)\(separator)ckWebAuthToken=\(text)&ckSession=\(text)"
            response.headers[.referrerPolicy] = "no-referrer"
            response.headers[.cacheControl] = "no-store"
            return response
        }
        // In development a person may copy the token by hand.
        return Page.signedIn(web, origin: origin, showsToken: environment == .development)
    }
}
#endif

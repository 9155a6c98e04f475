// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import HTTPTypes
import Hummingbird
import NIOCore
import TidemarkModel
import TidemarkWire

/// The content of a link with which a password is reset.
///
/// It names the previous password, so that it is valid once.
struct ResetTicket: Codable {
    static let purpose = "reset"
    static let lifetime: Int64 = 24 * 60 * 60_000
    /// The name of the account's record.
    var account: String
    /// The first digits of the hash of the password's hash.
    var password: String
    var end: Int64

    init(_ account: Account) {
        self.account = account.id.text
        password = Self.mark(of: account)
        end = Clock.now() + Self.lifetime
    }

    static func mark(of account: Account) -> String {
        // Each password has a new salt, so the stored hash changes even if the password does not,
        // and a used link stops working. The link holds a hash of it, because people can read the
        // link.
        [UInt8].sha256(account.password).prefix(8).hexadecimal
    }
}

/// The content of a link with which a user creates an account; it is valid once, for one address.
struct Invitation: Codable {
    static let purpose = "invitation"
    static let lifetime: Int64 = 14 * 24 * 60 * 60_000
    var email: String
    var end: Int64
}

/// `/account`, `/reset` and `/invitation`: the pages on which users manage their own account.
extension Server {
    private static let cookie = "tidemark-account"

    func accountPage(_ request: Request) async -> Response {
        let incoming = Incoming(request, options)
        do {
            guard let account = try await holder(incoming) else { return AccountPage.signIn(nil) }
            return try await accountPage(account)
        } catch {
            return AccountPage.signIn(WebError(any: error).reason)
        }
    }

    private func accountPage(_ account: Account, _ notice: String? = nil) async throws -> Response {
        let sessions = try await directory.sessions(ofAccount: account.id.text)
        return AccountPage.account(account, sessions, notice)
    }

    /// Performs the action of a form on the account page.
    func changeAccount(
        _ request: Request,
        _ action: String,
        from address: SocketAddress?
    ) async -> Response {
        let incoming = Incoming(request, options, from: address)
        do {
            let form = try await form(request, incoming)
            if action == "sign-in" { return try await signInToAccount(form, incoming) }
            guard let account = try await holder(incoming) else { return AccountPage.signIn(nil) }
            switch action {
            case "password": return try await changePassword(of: account, form)
            case "sign-out":
                if let session = try await accountSession(incoming) {
                    try await directory.endSession(session.id.text)
                }
            case "sign-out-everywhere":
                try await directory.endSessions(ofAccount: account.id.text)
            default: return try await accountPage(account, "There is no such action.")
            }
            return AccountPage.signIn("You are signed out.")
        } catch {
            return AccountPage.signIn(WebError(any: error).reason)
        }
    }

    private func changePassword(
        of account: Account,
        _ form: QueryMembers
    ) async throws -> Response {
        do {
            // Also for a signed-in user: a stolen cookie must not allow trying passwords without a
            // limit.
            try limits.take(.signIn, of: account.email)
            let old = form["old"] ?? ""
            guard let found = try await directory.account(email: account.email, password: old)
            else {
                return try await accountPage(account, "The old password is wrong.")
            }
            try await directory.setPassword(
                form["new"] ?? "",
                ofAccount: account.email,
                replacing: found.password
            )
        } catch {
            return try await accountPage(account, WebError(any: error).reason)
        }
        // `setPassword` has ended all sessions, also the one of this page.
        return AccountPage.signIn("The password is changed. Sign in with the new one.")
    }

    private func signInToAccount(
        _ form: QueryMembers,
        _ incoming: Incoming
    ) async throws -> Response {
        let email = form["email"] ?? ""
        try limits.take(.signIn, of: incoming.address)
        try limits.take(.signIn, of: Account.normalized(email))
        guard
            let account = try await directory.account(
                email: email,
                password: form["password"] ?? ""
            )
        else { return AccountPage.signIn("The address or the password is wrong.") }
        let token = try await directory.signInToAccount(account)
        var response = Response(status: .seeOther)
        response.headers[.location] = "/account"
        // A page of another site can neither send the cookie nor read it.
        let isSecure = incoming.baseURL.hasPrefix("https:")
        response.headers[.setCookie] =
            "\(Self.cookie)=\(token); Path=/account; HttpOnly; SameSite=Strict"
            + (isSecure ? "; Secure" : "")
        return response
    }

    /// Returns the members of a form that one of this server's pages sent.
    private func form(_ request: Request, _ incoming: Incoming) async throws -> QueryMembers {
        try incoming.checkIsOwnForm()
        return PercentCoding.form(try await incoming.collected(upTo: 16 << 10))
    }

    private func accountSession(_ incoming: Incoming) async throws -> Session? {
        let cookies = incoming.header(.cookie) ?? ""
        for cookie in cookies.split(separator: ";") {
            let parts = cookie.split(separator: "=", maxSplits: 1).map { $0.filter { $0 != " " } }
            guard parts.count == 2, parts[0] == Self.cookie else { continue }
            let session = try await directory.session(ofWebToken: parts[1])
            // An app's web token is not valid for the account.
            return session?.container == Registry.container.identifier ? session : nil
        }
        return nil
    }

    /// Finds the account whose page a browser may see.
    private func holder(_ incoming: Incoming) async throws -> Account? {
        guard let session = try await accountSession(incoming) else { return nil }
        return try await directory.account(named: session.account)
    }

    // MARK: Links of administrators

    func resetPage(_ request: Request) async -> Response {
        let text = Incoming(request, options).query["s"]
        guard (try? await directory.account(ofReset: text)) != nil else {
            return AccountPage.linkIsOver
        }
        return AccountPage.reset(text ?? "", nil)
    }

    func reset(_ request: Request) async -> Response {
        let incoming = Incoming(request, options)
        var text = ""
        do {
            let form = try await form(request, incoming)
            text = form["s"] ?? ""
            guard let account = try await directory.account(ofReset: text) else {
                return AccountPage.linkIsOver
            }
            // Another request with this link may have set the password since.
            try await directory.setPassword(
                form["password"] ?? "",
                ofAccount: account.email,
                replacing: account.password
            )
            return AccountPage.signIn("The password is set. Sign in with it.")
        } catch {
            return AccountPage.reset(text, WebError(any: error).reason)
        }
    }

    func invitationPage(_ request: Request) async -> Response {
        let text = Incoming(request, options).query["s"]
        guard let invitation = directory.invitation(text) else { return AccountPage.linkIsOver }
        return AccountPage.invitation(invitation.email, text ?? "", nil)
    }

    func acceptInvitation(_ request: Request) async -> Response {
        let incoming = Incoming(request, options)
        do {
            let form = try await form(request, incoming)
            guard let invitation = directory.invitation(form["s"]) else {
                return AccountPage.linkIsOver
            }
            do {
                // A link works once because addresses are unique: a second use finds the account of
                // the first.
                try await directory.addAccount(
                    email: invitation.email,
                    password: form["password"] ?? "",
                    givenName: form["given"] ?? "",
                    familyName: form["family"] ?? ""
                )
            } catch {
                let reason = WebError(any: error).reason
                return AccountPage.invitation(invitation.email, form["s"] ?? "", reason)
            }
            return AccountPage.signIn("The account was created. Sign in.")
        } catch {
            return AccountPage.signIn(WebError(any: error).reason)
        }
    }
}

extension Directory {
    /// Returns the path of a link with which the holder of an account sets a new password: once,
    /// within a day.
    public func resetPath(ofAccount email: String) async throws -> String {
        let account = try await accountWithPassword(email)
        return "/reset?s=" + (try secret.sealed(ResetTicket(account), for: ResetTicket.purpose))
    }

    /// Returns the account of a link of ``resetPath(ofAccount:)``; `nil` for an invalid link.
    func account(ofReset text: String?) async throws -> Account? {
        guard let text,
            let ticket = secret.opened(text, for: ResetTicket.purpose, as: ResetTicket.self),
            Clock.now() < ticket.end,
            let account = try await account(named: ticket.account),
            ResetTicket.mark(of: account) == ticket.password
        else { return nil }
        return account
    }

    /// Returns the path of a link to create an account for an address: once, within two weeks.
    public func invitationPath(for email: String) throws -> String {
        let invitation = Invitation(
            email: try Account.address(email),
            end: Clock.now() + Invitation.lifetime
        )
        return "/invitation?s=" + (try secret.sealed(invitation, for: Invitation.purpose))
    }

    func invitation(_ text: String?) -> Invitation? {
        guard let text,
            let found = secret.opened(text, for: Invitation.purpose, as: Invitation.self),
            Clock.now() < found.end
        else { return nil }
        return found
    }

    /// Signs a user in to the page of their own account, and returns the content of the cookie.
    func signInToAccount(_ account: Account) async throws -> String {
        try await begin(
            account,
            user: account.id.text,
            in: Registry.container,
            .development,
            isKept: false
        )
    }
}
#endif

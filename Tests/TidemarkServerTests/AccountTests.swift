// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import HTTPTypes
import Testing
import TidemarkModel
import TidemarkWire

@testable import TidemarkServer

/// People's own accounts, and links that an administrator made.
@Suite struct AccountTests {
    private func post(
        _ server: ServerUnderTest,
        _ path: String,
        _ fields: [String: String] = [:],
        cookie: String? = nil,
        origin: String? = nil
    ) async throws -> Answer {
        let form = fields.map { "\($0)=\(PercentCoding.encoded($1))" }.joined(separator: "&")
        var headers = HTTPFields()
        headers[.cookie] = cookie
        headers[.origin] = origin
        return try await server.request(path, .post, Array(form.utf8), headers)
    }

    /// Signs in to the account page; returns the cookie.
    private func cookie(_ server: ServerUnderTest, _ password: String) async throws -> String {
        let form = ["email": "ann@example.org", "password": password]
        let answer = try await post(server, "/account/sign-in", form)
        let cookie = try #require(answer.header("Set-Cookie"))
        #expect(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"))
        return try #require(cookie.split(separator: ";").first.map(String.init))
    }

    private func page(_ server: ServerUnderTest, _ cookie: String) async throws -> String {
        try await server.request("/account", .get, [], [.cookie: cookie]).text
    }

    @Test func `A sign-in under way does not outlive a lock, a new password or a removal`()
        async throws
    {
        try await ServerUnderTest.run(.router) { server in
            let directory = server.server.directory
            let email = "ann@example.org"
            _ = try await server.signIn("ann")
            func fails(_ code: SyncError.Code, _ change: () async throws -> Void) async throws {
                // The password is checked before the change.
                let checked = try #require(try await directory.account(email: email))
                try await change()
                let app = await #expect(throws: SyncError.self) {
                    _ = try await directory.signIn(checked, to: .standard, in: .development)
                }
                #expect(app?.code == code)
                let page = await #expect(throws: SyncError.self) {
                    _ = try await directory.signInToAccount(checked)
                }
                #expect(page?.code == code)
                #expect(try await directory.sessions().isEmpty)
            }
            try await fails(.notAuthenticated) {
                try await directory.setLocked(true, account: email)
            }
            try await directory.setLocked(false, account: email)
            try await fails(.notAuthenticated) {
                try await directory.setPassword("another long password", ofAccount: email)
            }
            _ = try await server.signIn("ann")
            #expect(try await directory.sessions().count == 1)
            try await fails(.unknownItem) { _ = try await directory.removeAccount(email) }
        }
    }

    @Test func `Sessions end while their account is locked and removed at once`() async throws {
        try await ServerUnderTest.run(.router) { server in
            let directory = server.server.directory
            for _ in 0..<20 { _ = try await server.signIn("ann") }
            let account = try #require(try await directory.account(email: "ann@example.org"))
            async let ended: Void = directory.endSessions(ofAccount: account.id.text)
            async let removed = directory.removeAccount(account.email)
            try await ended
            #expect(try await removed == account.id.text)
            #expect(try await directory.sessions().isEmpty)
        }
    }

    @Test func `An account is removed while sessions of it begin`() async throws {
        try await ServerUnderTest.run(.router) { server in
            let directory = server.server.directory
            var beganCount = 0
            for number in 0..<20 {
                let account = Account(
                    id: Account.recordName("\(number)"),
                    email: "ann@example.org",
                    givenName: "",
                    familyName: "",
                    password: ""
                )
                try await directory.add(account)
                beganCount += try await withThrowingTaskGroup(of: Bool.self) { group in
                    for _ in 0..<8 {
                        // Fails if the account is gone by then, and deletes its own session.
                        group.addTask { (try? await directory.signInToAccount(account)) != nil }
                    }
                    group.addTask {
                        _ = try await directory.removeAccount(account.email)
                        return false
                    }
                    return try await group.reduce(0) { $1 ? $0 + 1 : $0 }
                }
                #expect(try await directory.sessions().isEmpty)
            }
            #expect(beganCount > 0)
        }
    }

    private let old = "a long password of ann"

    @Test func `A user lists their sessions and ends them all`() async throws {
        try await ServerUnderTest.run(.router) { server in
            let web = try await server.signIn("ann")
            let cookie = try await cookie(server, old)
            let page = try await page(server, cookie)
            #expect(page.contains("ann@example.org") && page.contains("iCloud.tidemark"))
            // The page's cookie is no token of an app, nor the reverse.
            let value = try #require(cookie.split(separator: "=").last.map(String.init))
            #expect(try await server.send("private/zones/list", web: value).status == 421)
            #expect(!(try await self.page(server, "tidemark-account=\(web)").contains("Sessions")))
            _ = try await post(server, "/account/sign-out-everywhere", cookie: cookie)
            #expect(!(try await self.page(server, cookie).contains("Sessions")))
            #expect(try await server.send("private/zones/list", web: web).status == 421)
        }
    }

    @Test func `A password is changed with the old one, and only from the server's page`()
        async throws
    {
        try await ServerUnderTest.run(.router) { server in
            _ = try await server.signIn("ann")
            let cookie = try await cookie(server, old)
            let new = ["old": old, "new": "another password"]
            let wrong = new.merging(["old": "guessed it"]) { $1 }
            let refused = try await post(server, "/account/password", wrong, cookie: cookie)
            #expect(refused.text.contains("The old password is wrong"))
            let short = new.merging(["new": "x"]) { $1 }
            let tooShort = try await post(server, "/account/password", short, cookie: cookie)
            #expect(tooShort.text.contains("A password must have 8 to 200 bytes"))
            // The page of somebody who is still signed in.
            #expect(tooShort.text.contains("Sessions"))
            let foreign = try await post(
                server,
                "/account/password",
                new,
                cookie: cookie,
                origin: "https://evil.example.org"
            )
            #expect(foreign.text.contains("The form came from another page"))
            #expect(try await page(server, cookie).contains("Sessions"))
            let done = try await post(server, "/account/password", new, cookie: cookie)
            #expect(done.text.contains("The password is changed"))
            #expect(!(try await page(server, cookie).contains("Sessions")))
            _ = try await self.cookie(server, "another password")
        }
    }

    @Test func `A form is one of the server however its public address is written`() async throws {
        var options = ServerOptions()
        options.publicURL = "https://Sync.example.org:443"
        try await ServerUnderTest.run(.router, options: options) { server in
            _ = try await server.signIn("ann")
            for (origin, text) in [
                ("https://sync.example.org", "The address or the password is wrong."),
                ("http://sync.example.org", "The form came from another page."),
                ("null", "The form came from another page."),
            ] {
                let answer = try await post(
                    server,
                    "/account/sign-in",
                    ["email": "ann@example.org", "password": "guessed it"],
                    origin: origin
                )
                #expect(answer.text.contains(text), "\(origin)")
            }
        }
    }

    @Test func `A reset link sets a password once`() async throws {
        try await ServerUnderTest.run(.router) { server in
            _ = try await server.signIn("ann")
            let path = try await server.server.directory.resetPath(ofAccount: "ann@example.org")
            #expect(try await server.request(path).text.contains("New password"))
            let text = try #require(path.components(separatedBy: "s=").last)
            let form = ["s": text, "password": "a third password"]
            let short = try await post(server, "/reset", form.merging(["password": "x"]) { $1 })
            #expect(short.text.contains("A password must have 8 to 200 bytes"))
            #expect(try await post(server, "/reset", form).text.contains("The password is set"))
            #expect(try await server.request(path).text.contains("no longer valid"))
            #expect(try await post(server, "/reset", form).text.contains("no longer valid"))
            _ = try await cookie(server, "a third password")
            // An invitation is no reset link, and a changed link is none at all.
            let other = try server.server.directory.invitationPath(for: "ann@example.org")
                .components(separatedBy: "s=").last
            for bad in ["s=\(other ?? "")", "s=A" + text.dropFirst(), ""] {
                #expect(try await server.request("/reset?\(bad)").status == 400)
            }
        }
    }

    @Test(arguments: [
        "ann smith@example.org", "ann@exam ple.org", "q@q.q\r\nBcc: x", "q@q\u{0}.q",
        "q@q.q\u{85}x", "ann@@example.org", "ann", " @example.org ", "",
    ])
    func `An address with a space or a control character inside is none`(
        email: String
    ) async throws {
        try await ServerUnderTest.run(.router) { server in
            let directory = server.server.directory
            let added = await #expect(throws: SyncError.self) {
                try await directory.addAccount(email: email, password: old)
            }
            #expect(added?.code == .invalidArguments)
            #expect(added?.message.contains("is not an e-mail address") == true)
            #expect(throws: SyncError.self) { try directory.invitationPath(for: email) }
        }
    }

    @Test func `Spaces around an address are no part of it`() async throws {
        try await ServerUnderTest.run(.router) { server in
            let directory = server.server.directory
            let account = try await directory.addAccount(
                email: " Ann@Example.org\n",
                password: old
            )
            #expect(account.email == "ann@example.org")
            #expect(try await directory.account(email: "ann@example.org ")?.id == account.id)
        }
    }

    @Test func `An invitation creates an account if sign-up is disabled`() async throws {
        var options = ServerOptions()
        options.allowsSignUp = false
        try await ServerUnderTest.run(.router, options: options) { server in
            let path = try server.server.directory.invitationPath(for: "Ann@example.org")
            #expect(try await server.request(path).text.contains("ann@example.org"))
            let text = try #require(path.components(separatedBy: "s=").last)
            let form = ["s": text, "password": old, "email": "eve@example.org", "given": "Ann"]
            #expect(
                try await post(server, "/invitation", form).text.contains("The account was created")
            )
            let again = try await post(server, "/invitation", form)
            #expect(again.text.contains("An account with the address ann@example.org"))
            _ = try await cookie(server, old)
            #expect(try await server.server.directory.account(email: "eve@example.org") == nil)
        }
    }
}
#endif

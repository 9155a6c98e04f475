// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import Foundation
import HTTPTypes
import Testing
import Tidemark
import TidemarkModel
import TidemarkWire

@testable import TidemarkServer

/// The page on which people sign in.
@Suite struct SignInTests {
    /// The address to which a request without a user is sent.
    private func address(
        _ server: ServerUnderTest,
        origin: String? = nil,
        token: String? = nil
    ) async throws -> String {
        let path = "\(ServerUnderTest.path)public/users/caller?ckAPIToken=\(token ?? server.token)"
        let headers: HTTPFields = origin.map { [.origin: $0] } ?? [:]
        let answer = try await server.request(path, .get, [], headers)
        let url = try #require(answer.json["redirectURL"] as? String)
        return ServerUnderTest.path(of: url)
    }

    private func post(
        _ server: ServerUnderTest,
        _ address: String,
        _ fields: [String: String],
        headers: HTTPFields = [:]
    ) async throws -> Answer {
        let state = try #require(address.components(separatedBy: "s=").last)
        let form = (fields.merging(["s": state]) { first, _ in first })
            .map { "\($0)=\(PercentCoding.encoded($1))" }.joined(separator: "&")
        return try await server.request("/signin", .post, Array(form.utf8), headers)
    }

    private let ann = ["email": "ann@example.org", "password": "verysecret+1"]

    @Test func `A user creates an account and is signed in to the requesting page`() async throws {
        try await ServerUnderTest.run(.router) { server in
            let address = try await self.address(server, origin: "https://app.example.org")
            let page = try await server.request(address)
            #expect(page.text.contains("<form method=\"post\""))
            #expect(page.text.contains("name=\"keep\""))
            #expect(!page.text.contains("name=\"discoverable\""))
            // A page that cannot see its opener cannot hand over the token.
            #expect(page.header("Cross-Origin-Opener-Policy") == nil)
            // Any stricter policy, and browsers send the page's form with `Origin: null`.
            #expect(page.header("Referrer-Policy") == "same-origin")
            let policy = try #require(page.header("Content-Security-Policy"))
            #expect(policy.contains("frame-ancestors 'none'"))
            let new = ann.merging(["new": "1", "given": "Ann \"<b>\""]) { first, _ in first }
            let done = try await post(server, address, new)
            #expect(done.text.contains("postMessage(message, \"https://app.example.org\")"))
            let web = try #require(
                done.text.components(separatedBy: "ckWebAuthToken: \"").last?
                    .components(separatedBy: "\"").first
            )
            // Older clients read one key, newer ones the other; the window then closes itself.
            #expect(done.text.contains("ckSession: \"\(web)\""))
            #expect(done.text.contains("window.close()"))
            #expect(!done.text.contains("\"*\""))
            let caller = try await server.send("public/users/caller", web: web)
            let names = caller.json["nameComponents"] as? [String: String]
            #expect(names?["givenName"] == "Ann \"<b>\"")
            // The address is good once.
            let again = try await post(server, address, ann)
            #expect(again.text.contains("already been used"))
        }
    }

    @Test func `The page reports a wrong password and an unknown or taken address`() async throws {
        try await ServerUnderTest.run(.router) { server in
            _ = try await server.signIn("ann")
            let address = try await self.address(server)
            let wrong = try await post(server, address, ann)
            #expect(wrong.text.contains("The address or the password is wrong"))
            // The password is not sent back.
            #expect(!wrong.text.contains("verysecret"))
            let unknown = ["email": "<nobody>@example.org", "password": "whatever it is"]
            let refused = try await post(server, address, unknown)
            #expect(refused.text.contains("The address or the password is wrong"))
            #expect(refused.text.contains("&lt;nobody&gt;@example.org"))
            let taken = ann.merging(["new": "1"]) { first, _ in first }
            #expect(
                try await post(server, address, taken).text.contains("An account with the address")
            )
            let short = ["email": "new@example.org", "password": "short", "new": "1"]
            #expect(try await post(server, address, short).text.contains("8 to 200 bytes"))
            let right = ["email": "ann@example.org", "password": "a long password of ann"]
            #expect(try await post(server, address, right).text.contains("You are signed in"))
        }
    }

    @Test func `A token with a callback redirects the browser there`() async throws {
        try await ServerUnderTest.run(.router) { server in
            let token = try await server.server.directory.makeToken(
                name: "web",
                container: .standard,
                environment: .production,
                callback: "https://app.example.org/done?x=1"
            )
            let path =
                "/database/1/iCloud.tidemark/production/private/zones/list?ckAPIToken=\(token)"
            let answer = try await server.request(path)
            let address = ServerUnderTest.path(
                of: try #require(answer.json["redirectURL"] as? String)
            )
            let new = ann.merging(["new": "1"]) { first, _ in first }
            let done = try await post(server, address, new)
            #expect(done.status == 302)
            let location = try #require(done.headers[.location])
            #expect(location.hasPrefix("https://app.example.org/done?x=1&ckWebAuthToken="))
            #expect(location.contains("&ckSession="))
        }
    }

    @Test func `An app can ask if others may find the user`() async throws {
        try await ServerUnderTest.run(.router) { server in
            let token = try await server.server.directory.makeToken(
                name: "social",
                container: .standard,
                environment: .development,
                asksDiscoverable: true
            )
            for (email, consent) in [("ann@example.org", true), ("ben@example.org", false)] {
                let address = try await self.address(server, token: token)
                let page = try await server.request(address)
                #expect(page.text.contains("name=\"discoverable\""))
                var form = ["email": email, "password": "verysecret+1", "new": "1"]
                if consent { form["discoverable"] = "1" }
                #expect(try await post(server, address, form).status == 200)
                let directory = server.server.directory
                let account = try #require(try await directory.account(email: email))
                // In other containers, and until the next answer, nothing changes.
                let other = ContainerID("iCloud.other")
                _ = try await directory.signIn(account, to: other, in: .development)
                _ = try await directory.signIn(account, to: .standard, in: .development)
                for (container, expected) in [(.standard, consent), (other, false)] {
                    let told = try server.store.account(
                        of: account.user(in: container),
                        of: container,
                        in: .development
                    )
                    #expect(told?.isDiscoverable == expected, "\(container)")
                }
            }
        }
    }

    @Test func `A sign-in address ends after ten minutes`() async throws {
        struct State: Codable {
            var token: String
            var origin: String?
            var nonce: String
            var end: Int64
        }
        try await ServerUnderTest.run(.router) { server in
            let address = try await self.address(server)
            let text = try #require(address.components(separatedBy: "s=").last)
            let secret = server.server.directory.secret
            var state = try #require(secret.opened(text, for: "sign in", as: State.self))
            #expect((9 * 60_000...10 * 60_000).contains(state.end - Clock.now()))
            let same = try secret.sealed(state, for: "sign in")
            #expect(try await server.request("/signin?s=\(same)").status == 200)
            state.end = Clock.now() - 1
            let late = try secret.sealed(state, for: "sign in")
            let page = try await server.request("/signin?s=\(late)")
            #expect(page.status == 400)
            #expect(page.text.contains("no longer valid"))
            let answer = try await post(server, "/signin?s=\(late)", ann)
            #expect(answer.text.contains("no longer valid"))
        }
    }

    @Test func `Forms of other sites and changed states are rejected`() async throws {
        try await ServerUnderTest.run(.router) { server in
            _ = try await server.signIn("ann")
            let address = try await self.address(server)
            let right = ["email": "ann@example.org", "password": "a long password of ann"]
            let foreign = try await post(
                server,
                address,
                right,
                headers: [.origin: "https://evil.example.org"]
            )
            #expect(foreign.text.contains("another page"))
            for changed in ["/signin?s=", "/signin?s=AAAA", address + "A"] {
                #expect(try await server.request(changed).status == 400)
                let answer = try await post(server, changed, right)
                #expect(answer.text.contains("no longer valid"))
            }
        }
    }

    @Test func `A page from the server's own address is signed in to without an Origin`()
        async throws
    {
        try await ServerUnderTest.run(.router) { server in
            let site = try #require(HTTPField.Name("Sec-Fetch-Site"))
            let destination = try #require(HTTPField.Name("Sec-Fetch-Dest"))
            let path = "\(ServerUnderTest.path)public/users/caller?ckAPIToken=\(server.token)"
            for (name, from, to, isScript) in [
                ("ann", "same-origin", "empty", true), ("ben", "same-site", "empty", false),
                ("cat", "same-origin", "document", false),
            ] {
                let fields: HTTPFields = [site: from, destination: to]
                let answer = try await server.request(path, .get, [], fields)
                let url = try #require(answer.json["redirectURL"] as? String)
                let own = try #require(url.components(separatedBy: "/signin").first)
                let person = ["email": "\(name)@example.org", "password": "verysecret+1"]
                let new = person.merging(["new": "1"]) { first, _ in first }
                let done = try await post(server, ServerUnderTest.path(of: url), new)
                #expect(done.text.contains("You are signed in"), "\(name)")
                let posts = done.text.contains("postMessage(message, \"\(own)\")")
                #expect(posts == isScript, "\(name)")
            }
        }
    }

    @Test func `Without an app, a user signs in with the token`() async throws {
        try await ServerUnderTest.run(.router) { server in
            let answer = try await server.request("/signin?ckAPIToken=\(server.token)")
            #expect(answer.status == 302)
            let address = ServerUnderTest.path(of: try #require(answer.headers[.location]))
            let new = ann.merging(["new": "1"]) { first, _ in first }
            // In development there is a token to copy; in production there would be none.
            #expect(try await post(server, address, new).text.contains("id=\"token\""))
        }
    }
}
#endif

// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import Testing
import TidemarkDatabase
import TidemarkModel

@testable import TidemarkServer

/// What the server keeps of its credentials in memory.
@Suite struct CredentialCacheTests {
    @Test func `A lookup does not bring back a credential that is revoked meanwhile`() async throws
    {
        let cache = CredentialCache<Int>(limit: 10)
        let late = try await cache.credential("a") {
            cache.drop("a")
            return 1
        }
        // The request was there before the revocation.
        #expect(late == 1)
        #expect(try await cache.credential("a") { nil } == nil)
        #expect(try await cache.credential("a") { 2 } == 2)
        #expect(try await cache.credential("a") { nil } == 2)
        cache.drop("a")
        #expect(try await cache.credential("a") { nil } == nil)
    }

    @Test func `The number of checked texts in memory is limited`() {
        let texts = CheckedTexts<Int>(limit: 2)
        #expect(texts["a"] == nil)
        for (index, text) in ["a", "b", "c"].enumerated() { texts.keep(index, of: text) }
        #expect(texts["a"] == nil)
        #expect(texts["b"] == nil)
        #expect(texts["c"] == 2)
    }

    @Test func `Tokens that were checked before are refused once they have ended`() async throws {
        try await ServerUnderTest.run(.router) { server in
            let directory = server.server.directory
            let token = try await server.makeToken("app")
            let web = try await server.signIn("ann")
            for _ in 0..<2 {
                #expect(try await directory.token(token) != nil)
                #expect(try await directory.session(ofWebToken: web) != nil)
            }
            try await directory.revokeToken(token)
            #expect(try await directory.token(token) == nil)
            let account = try #require(try await directory.account(email: "ann@example.org"))
            try await directory.endSessions(ofAccount: account.id.text)
            #expect(try await directory.session(ofWebToken: web) == nil)
        }
    }

    @Test func `A used token stays invalid when the cache of sessions is full`() async throws {
        try await ServerUnderTest.run(.router) { server in
            var options = server.server.options
            options.tokenRotation = .strict
            let directory = try await Directory(
                of: server.store,
                at: server.folder,
                options: options,
                cacheLimit: 1
            )
            var tokens: [String] = []
            for name in ["ann", "ben"] {
                let account = try await directory.addAccount(
                    email: "\(name)@example.org",
                    password: "a long password of \(name)"
                )
                tokens.append(
                    try await directory.signIn(account, to: .standard, in: .development)
                )
            }
            #expect(try await directory.session(ofWebToken: tokens[0]) != nil)
            #expect(try await directory.session(ofWebToken: tokens[1]) != nil)
            for token in tokens {
                #expect(try await directory.session(ofWebToken: token) == nil)
            }
        }
    }

    /// Expects that the credentials of a listener stay good until something ends them.
    private func expectEnd(
        of found: Callers.Found,
        in directory: Directory,
        by end: () async throws -> Void
    ) async throws {
        var credentials = HeldCredentials(found)
        for _ in 0..<3 {
            let isGood = try await credentials.areGood(in: directory)
            #expect(isGood)
        }
        try await end()
        let isGood = try await credentials.areGood(in: directory)
        #expect(!isGood)
    }

    @Test func `Credentials that a listener has checked end at once`() async throws {
        try await ServerUnderTest.run(.router) { server in
            let directory = server.server.directory
            let web = try await server.signIn("ann")
            let account = try #require(try await directory.account(email: "ann@example.org"))
            let user = account.user(in: .standard)
            let token = try await directory.token(server.token)
            let session = try await directory.session(ofWebToken: web)
            let signedIn = Callers.Found(
                caller: Caller(user: user),
                session: session,
                token: token
            )
            try await expectEnd(of: signedIn, in: directory) {
                try await directory.endSessions(ofAccount: account.id.text)
            }
            let keyed = Callers.Found(
                caller: Caller(user: user, authentication: .serverKey(id: server.keyID))
            )
            try await expectEnd(of: keyed, in: directory) {
                try await directory.revokeKey(server.keyID)
            }
            let signIn = IssuedSignIn(
                account: account.id.text,
                issuer: "https://id.example.org",
                issued: Clock.now(),
                end: Clock.now() + 3_000
            )
            let issued = Callers.Found(caller: Caller(user: user), signIn: signIn, token: token)
            try await expectEnd(of: issued, in: directory) {
                try await Task.sleep(for: .seconds(3.1))
            }
            let again = try await directory.session(ofWebToken: try await server.signIn("ann"))
            let last = Callers.Found(caller: Caller(user: user), session: again, token: token)
            try await expectEnd(of: last, in: directory) {
                try await directory.revokeToken(server.token)
            }
        }
    }

    @Test func `Sessions that were ended or have expired are removed`() async throws {
        try await ServerUnderTest.run(.router) { server in
            let directory = server.server.directory
            let webs = [try await server.signIn("ann"), try await server.signIn("ben")]
            let ann = try #require(try await directory.session(ofWebToken: webs[0]))
            func left() async throws -> [String] {
                try await directory.registry.sessions.all(Session.self).map(\.value.account)
            }
            let now = Clock.now()
            try await directory.sweepSessions(now)
            #expect(try await left().count == 2)
            try await directory.endSession(ann.id.text)
            #expect(try await left().count == 2)
            try await directory.sweepSessions(now)
            #expect(try await left().count == 1)
            // Expired, but a response may still be on its way.
            try await directory.sweepSessions(now + 31 * 60_000)
            #expect(try await left().count == 1)
            #expect(try await directory.session(ofWebToken: webs[1]) != nil)
            try await directory.sweepSessions(Clock.now() + 91 * 60_000)
            #expect(try await left() == [])
            #expect(try await directory.session(ofWebToken: webs[1]) == nil)
        }
    }

    @Test func `Only uses that are older than any session are forgotten`() {
        let kept = Self.session("kept", isKept: true)
        var uses = SessionUses(from: 0)
        func take(_ issued: Int64, of session: Session, now: Int64) -> Bool {
            uses.take(issued, of: session, isStrict: true, now: now)
        }
        #expect(take(1, of: kept, now: 1))
        for number in 0..<20_000 {
            _ = take(2, of: Self.session("\(number)", isKept: false), now: 2)
        }
        #expect(!take(1, of: kept, now: 3))
        let late = Session.longestLifetime + 3
        for number in 20_000..<50_000 {
            _ = take(late, of: Self.session("\(number)", isKept: false), now: late)
        }
        #expect(uses.count == 30_000)
        #expect(!take(1, of: kept, now: late))
    }

    @Test func `A session whose continuation is only checked ends in time`() {
        let session = Self.session("a", isKept: false)
        // Nobody has used this one since the server began.
        #expect(SessionUses(from: 1).continues(session, now: session.lifetime))
        #expect(!SessionUses(from: 1).continues(session, now: session.lifetime + 1))
        var uses = SessionUses(from: 0)
        let isNew = uses.use(session, now: 1)
        #expect(isNew)
        #expect(uses.continues(session, now: session.lifetime))
        #expect(!uses.continues(session, now: session.lifetime + 1))
        let isLate = uses.use(session, now: session.lifetime + 1)
        #expect(!isLate)
    }

    private static func session(_ id: String, isKept: Bool) -> Session {
        Session(
            id: RecordName(id),
            account: "account",
            user: "user",
            container: ContainerID.standard.identifier,
            environment: "development",
            isKept: isKept
        )
    }
}
#endif

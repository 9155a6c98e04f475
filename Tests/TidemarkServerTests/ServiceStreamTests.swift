// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import ServiceConformance
import Testing
import Tidemark
import TidemarkModel
import TidemarkWire

@testable import TidemarkServer

/// The streams of `/tidemark/1/…`: who may listen, and how often.
@Suite struct ServiceStreamTests {
    @Test func `A stream ends with the session or the token that it began with`() async throws {
        var options = ServerOptions()
        options.heartbeat = .milliseconds(100)
        try await ServerHost.socketJSON.run(options: options) { hosted in
            let server = hosted.server.server
            let anna = try await hosted.device("anna")
            let first = try await anna.service.notificationToken(as: anna.caller)
            let notifications = try await anna.service.notifications(
                since: first,
                as: anna.caller
            )
            let statuses = try await anna.service.accountStatuses(as: anna.caller)
            try await waitUntil { server.push.hub.count == 2 }
            try await server.directory.endSessions(ofAccount: Account.recordName("anna").text)
            let signedOut = try await #require(throws: SyncError.self) {
                for try await _ in notifications {}
            }
            #expect(signedOut.code == .notAuthenticated)
            let alsoSignedOut = try await #require(throws: SyncError.self) {
                for try await _ in statuses {}
            }
            #expect(alsoSignedOut.code == .notAuthenticated)
            try await waitUntil { server.push.hub.count == 0 }

            let ben = try await hosted.device("ben")
            let second = try await ben.service.notificationToken(as: ben.caller)
            let others = try await ben.service.notifications(since: second, as: ben.caller)
            try await waitUntil { server.push.hub.count == 1 }
            try await server.directory.revokeToken(hosted.server.token)
            let revoked = try await #require(throws: SyncError.self) {
                for try await _ in others {}
            }
            #expect(revoked.code == .notAuthenticated)
        }
    }

    @Test func `Streams count as listeners of their user`() async throws {
        var options = ServerOptions()
        options.listenersPerUser = 1
        try await ServerHost.socket.run(options: options) { hosted in
            let server = hosted.server.server
            let anna = try await hosted.device("anna")
            let first = try await anna.service.notificationToken(as: anna.caller)
            let stream = try await anna.service.notifications(since: first, as: anna.caller)
            try await waitUntil { server.push.hub.count == 1 }
            let error = try await #require(throws: SyncError.self) {
                _ = try await anna.service.accountStatuses(as: anna.caller)
            }
            #expect(error.code == .requestRateLimited)
            let ben = try await hosted.device("ben")
            _ = try await ben.service.accountStatuses(as: ben.caller)
            withExtendedLifetime(stream) {}
        }
    }

    @Test func `A stream ends when its client closes its side of the connection`() async throws {
        var options = ServerOptions()
        options.heartbeat = .milliseconds(100)
        try await ServerUnderTest.run(.live, options: options) { server in
            let web = try await server.signIn("ann")
            let socket = try RawSocket(port: try #require(server.client.port))
            try socket.send(
                "POST /tidemark/1/iCloud.tidemark/development/private/accountStatuses"
                    + "?ckAPIToken=\(server.token)&ckWebAuthToken=\(web) HTTP/1.1\r\n"
                    + "Host: localhost\r\nContent-Type: \(WireForm.json.mediaType)\r\n"
                    + "Content-Length: 2\r\n\r\n{}"
            )
            try await waitUntil { server.server.push.hub.count == 1 }
            // The socket stays open and receives: without the watch, the server would go on writing.
            socket.endSending()
            try await waitUntil { server.server.push.hub.count == 0 }
            withExtendedLifetime(socket) {}
        }
    }
}
#endif

// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Testing
import TidemarkLock
import TidemarkModel
import TidemarkWire

@testable import TidemarkClient

/// A server that sends its clients elsewhere.
@Suite struct RedirectTests {
    /// The paths that a server was asked for.
    private final class Hits: Sendable {
        private let state = Lock([String]())

        var paths: [String] { state.withLock { $0 } }

        func add(_ path: String) {
            state.withLock { $0.append(path) }
        }
    }

    @Test func `A client does not follow a server to another address`() async throws {
        let hits = Hits()
        let router = Router()
        for method in [HTTPRequest.Method.get, .post] {
            router.on("/**", method: method) { request, _ -> Response in
                hits.add(request.uri.path)
                return Response(status: .temporaryRedirect, headers: [.location: "/taken"])
            }
        }
        try await Application(router: router).test(.live) { client in
            var options = ConnectionOptions()
            options.patience = Patience(repetitions: 1, wait: { _ in })
            let connection = try ServerConnection(
                to: "http://localhost:\(try #require(client.port))",
                credentials: .bearer("token", apiToken: "app"),
                options: options
            )
            await #expect(throws: SyncError.self) {
                try await connection.service.zones(as: Caller())
            }
            await connection.close()
        }
        #expect(!hits.paths.isEmpty)
        #expect(!hits.paths.contains("/taken"))
    }
}
#endif

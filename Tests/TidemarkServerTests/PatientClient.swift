// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import HTTPTypes
import HummingbirdTesting
import NIOCore

/// A client of a server under test, over a socket if the server has one.
///
/// Hummingbird's own live client fails after 20 seconds. While many tests share two processors, a
/// correct answer can take longer.
struct PatientClient: Sendable {
    private let client: any TestClientProtocol
    private let socket: TestClient?

    /// The port of the server; `nil` for one without a socket.
    var port: Int? { client.port }

    /// Runs a body with a client that waits for each answer up to ten minutes.
    static func run(
        over client: any TestClientProtocol,
        _ body: @Sendable (PatientClient) async throws -> Void
    ) async throws {
        guard let port = client.port else {
            return try await body(PatientClient(client: client, socket: nil))
        }
        let socket = TestClient(
            host: "localhost",
            port: port,
            configuration: .init(timeout: .seconds(600))
        )
        socket.connect()
        do {
            try await body(PatientClient(client: client, socket: socket))
        } catch {
            try await socket.shutdown()
            throw error
        }
        try await socket.shutdown()
    }

    func execute(
        uri: String,
        method: HTTPRequest.Method,
        headers: HTTPFields = [:],
        body: ByteBuffer
    ) async throws -> Answer {
        guard let socket else {
            return try await client.execute(uri: uri, method: method, headers: headers, body: body)
            {
                Answer(
                    status: $0.status.code,
                    headers: $0.headers,
                    body: Array($0.body.readableBytesView)
                )
            }
        }
        var headers = headers
        headers[.connection] = "keep-alive"
        let response = try await socket.execute(
            TestClient.Request(
                uri,
                method: method,
                authority: "localhost",
                headers: headers,
                body: body
            )
        )
        return Answer(
            status: response.status.code,
            headers: response.headers,
            body: response.body.map { Array($0.readableBytesView) } ?? []
        )
    }
}
#endif

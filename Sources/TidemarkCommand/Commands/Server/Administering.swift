// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import Tidemark
import TidemarkModel
import TidemarkServer

extension WrittenStoreArgument {
    /// Asks the server that has the store open, or the files where none has.
    @discardableResult
    func administer(_ request: AdministrationRequest) async throws -> AdministrationAnswer {
        if let answer = try await askServer(request) { return answer }
        var answer: AdministrationAnswer?
        try await write(.creating) { store in
            answer = try await Directory(of: store, at: self.store).answer(request)
        }
        guard let answer else { throw CommandError("The directory gave no answer.") }
        return answer
    }

    /// The answer of the server that runs on the store; `nil` if none does.
    private func askServer(_ request: AdministrationRequest) async throws -> AdministrationAnswer? {
        guard let path = AdministrationSocket.path(ofStoreAt: store),
            FileManager.default.fileExists(atPath: path),
            let url = URL(httpURLWithSocketPath: path, uri: AdministrationSocket.uri)
        else { return nil }
        var message = HTTPClientRequest(url: url.absoluteString)
        message.method = .POST
        message.body = .bytes(try JSONEncoder().encode(request))
        var configuration = HTTPClient.Configuration()
        configuration.connectionPool.retryConnectionEstablishment = false
        let client = HTTPClient(configuration: configuration)
        let (status, body): (HTTPResponseStatus, Data)
        do {
            let response = try await client.execute(message, timeout: .seconds(60))
            status = response.status
            body = Data(try await response.body.collect(upTo: 64 << 20).readableBytesView)
            try await client.shutdown()
        } catch {
            try await client.shutdown()
            // A server that was killed leaves its socket behind: nobody answers there.
            if error is HTTPClientError { throw error }
            return nil
        }
        guard status == .ok else {
            throw try JSONDecoder().decode(SyncError.self, from: body)
        }
        return try JSONDecoder().decode(AdministrationAnswer.self, from: body)
    }
}
#endif

// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import ServiceLifecycle
import TidemarkModel

/// The socket in a store's folder on which a server answers administrators.
///
/// A user who may open the socket may administer the server: its mode is 0600, in a folder that is its owner's.
public enum AdministrationSocket {
    /// Bytes that the path of a socket may have on Linux and on Apple's systems.
    private static let pathByteLimit = 103

    /// The path of a store's socket; `nil` where it would be too long for one.
    public static func path(ofStoreAt folder: String) -> String? {
        let path = URL(fileURLWithPath: folder).standardizedFileURL.path + "/server.sock"
        return path.utf8.count <= pathByteLimit ? path : nil
    }

    /// The path of requests on the socket.
    public static let uri = "/administration"
}

extension Server {
    /// Makes the service that answers administrators while the server runs; `nil` where the store's path is
    /// too long for a socket.
    func administration() -> (any Service)? {
        guard let path = AdministrationSocket.path(ofStoreAt: folder) else {
            logger.warning(
                "The store's path is too long for a socket: nobody can administer the running server."
            )
            return nil
        }
        // The lock of the store is this process's, so that a socket that is there is a dead one.
        removeSocket()
        let router = Router(context: BasicRequestContext.self)
        router.post("\(AdministrationSocket.uri)") { request, _ in await self.administer(request) }
        var quiet = logger
        quiet.logLevel = .warning
        return Application(
            router: router,
            configuration: ApplicationConfiguration(
                address: .unixDomainSocket(path: path),
                serverName: nil
            ),
            onServerRunning: { _ in
                try? FileManager.default.setAttributes(
                    [.posixPermissions: 0o600],
                    ofItemAtPath: path
                )
            },
            logger: quiet
        )
    }

    func removeSocket() {
        guard let path = AdministrationSocket.path(ofStoreAt: folder) else { return }
        try? FileManager.default.removeItem(atPath: path)
    }

    private func administer(_ request: Request) async -> Response {
        do {
            let body = try await request.collected(upTo: 1 << 20)
            let asked = try JSONDecoder().decode(AdministrationRequest.self, from: Data(body))
            let name = Mirror(reflecting: asked).children.first?.label ?? "\(asked)"
            let answer = try await directory.answer(asked)
            try await push.webhooks.reload()
            logger.info("administration", metadata: ["request": "\(name)"])
            return try Response(administration: answer, .ok)
        } catch {
            let failure =
                error as? SyncError
                ?? SyncError(.internalError, "The server could not do it: \(error).")
            return (try? Response(administration: failure, .badRequest))
                ?? Response(status: .internalServerError)
        }
    }
}

extension Response {
    fileprivate init(administration answer: some Encodable, _ status: HTTPResponse.Status) throws {
        let bytes = try JSONEncoder().encode(answer)
        self.init(
            status: status,
            headers: [.contentType: "application/json"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes))
        )
    }
}
#endif

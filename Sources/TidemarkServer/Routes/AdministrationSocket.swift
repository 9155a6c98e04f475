// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import Foundation
import Hummingbird
import ServiceLifecycle

/// The socket in a store's folder on which a server answers administrators.
///
/// A user who may open the socket may administer the server: its mode is 0600, in a folder of its
/// owner.
public enum AdministrationSocket {
    /// Bytes that the path of a socket may have on Linux and on Apple's systems.
    private static let pathByteLimit = 103

    /// Returns the path of a store's socket; `nil` if it would be too long for a socket.
    public static func path(ofStoreAt folder: String) -> String? {
        let path = URL(fileURLWithPath: folder).standardizedFileURL.path + "/server.sock"
        return path.utf8.count <= pathByteLimit ? path : nil
    }
}

extension Server {
    /// Creates the service that answers administrators while the server runs.
    ///
    /// Returns `nil` if the store's path is too long for a socket.
    func administration() -> (any Service)? {
        guard let path = AdministrationSocket.path(ofStoreAt: folder) else {
            logger.warning(
                "The store's path is too long for a socket: local commands cannot use the server."
            )
            return nil
        }
        // This process has the store's lock, so an existing socket belongs to a dead process.
        removeSocket()
        let router = Router(context: BasicRequestContext.self)
        router.post("/tidemark/1/administration/:call") { request, context in
            await self.administerLocally(request, context.parameters.get("call") ?? "")
        }
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
}
#endif

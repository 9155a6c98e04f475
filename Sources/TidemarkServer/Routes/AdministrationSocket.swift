// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import Foundation
import Hummingbird
import ServiceLifecycle

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

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

    /// Returns true if a process listens on a socket.
    public static func isOpen(_ path: String) -> Bool {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        // The rest stays zero, which ends the path.
        withUnsafeMutableBytes(of: &address.sun_path) { room in
            room.copyBytes(from: path.utf8.prefix(pathByteLimit))
        }
        #if canImport(Glibc)
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        #else
        let descriptor = socket(AF_UNIX, SOCK_STREAM, 0)
        #endif
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                connect(descriptor, pointer, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
            }
        }
    }

    /// Creates the folder in which a socket is created, and returns the socket's path there, which
    /// is shorter.
    ///
    /// A socket is open before its mode can be set. Until then, only the owner can enter the
    /// folder. The process's mask is not changed, because it applies to all threads.
    static func prepare(_ path: String) throws -> String {
        try FileManager.default.createDirectory(
            atPath: folder(of: path),
            withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o700]
        )
        return folder(of: path) + "/s"
    }

    /// Sets the mode of a socket that was created, and moves it to its path.
    static func publish(_ path: String) throws {
        let files = FileManager.default
        let folder = folder(of: path)
        try files.setAttributes([.posixPermissions: 0o600], ofItemAtPath: folder + "/s")
        try files.moveItem(atPath: folder + "/s", toPath: path)
        try files.removeItem(atPath: folder)
    }

    /// Removes a socket and the folder in which it was created.
    static func remove(_ path: String) {
        try? FileManager.default.removeItem(atPath: path)
        try? FileManager.default.removeItem(atPath: folder(of: path))
    }

    /// Returns the folder in which a socket is created.
    private static func folder(of path: String) -> String {
        URL(fileURLWithPath: path).deletingLastPathComponent().path + "/.socket"
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
        let made: String
        do {
            made = try AdministrationSocket.prepare(path)
        } catch {
            logger.warning(
                """
                The folder for the socket \(path) cannot be created, so local commands cannot use \
                the server: \(error)
                """
            )
            return nil
        }
        let router = Router(context: BasicRequestContext.self)
        router.post("/tidemark/1/administration/:call") { request, context in
            await self.administerLocally(request, context.parameters.get("call") ?? "")
        }
        var quiet = logger
        quiet.logLevel = .warning
        return Application(
            router: router,
            configuration: ApplicationConfiguration(
                address: .unixDomainSocket(path: made),
                serverName: nil
            ),
            onServerRunning: { _ in
                do {
                    try AdministrationSocket.publish(path)
                } catch {
                    self.logger.warning(
                        """
                        The socket \(path) cannot be set up, so local commands cannot use the \
                        server: \(error)
                        """
                    )
                }
            },
            logger: quiet
        )
    }

    func removeSocket() {
        guard let path = AdministrationSocket.path(ofStoreAt: folder) else { return }
        AdministrationSocket.remove(path)
    }
}
#endif

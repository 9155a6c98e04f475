// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import Foundation
import Logging
import NIOCertificateReloading
import NIOCore
import NIOSSL
import TidemarkModel

extension ServerOptions {
    /// Returns the address at which clients reach a server that listens on a port.
    public func address(port: Int) -> String {
        if let publicURL { return publicURL }
        // A client cannot connect to a wildcard address, so the address names this machine.
        let isLocal = ["127.0.0.1", "::1", "0.0.0.0", "::"].contains(host)
        let name = isLocal ? "localhost" : host.contains(":") ? "[\(host)]" : host
        return "\(certificate == nil ? "http" : "https")://\(name):\(port)"
    }

    /// Throws if the server could not listen: the host has no address, or the certificate or its
    /// key cannot be used.
    public func checkAddressAndCertificate() throws {
        do {
            _ = try SocketAddress.makeAddressResolvingHost(host, port: port)
        } catch {
            throw SyncError(
                .invalidArguments,
                "The server cannot listen on \"\(host)\", which is no address.",
                remedy: "Give an address of this machine as the host, such as 127.0.0.1; 0.0.0.0 "
                    + "is all of them."
            )
        }
        _ = try certificateReloader()
    }

    /// Returns why the system does not let a server listen at the address; `nil` for an error of
    /// another kind.
    func refusal(_ code: CInt) -> SyncError? {
        switch code {
        case EADDRINUSE:
            SyncError(
                .serviceUnavailable,
                "Another program listens on port \(port) of \(host).",
                remedy: "Stop it, or choose another port with --port; 0 takes a free one."
            )
        case EACCES:
            SyncError(
                .invalidArguments,
                "The user of this process may not listen on port \(port) of \(host).",
                remedy: "Choose a port from 1024 on with --port, or give the process the "
                    + "capability CAP_NET_BIND_SERVICE."
            )
        case EADDRNOTAVAIL:
            SyncError(
                .invalidArguments,
                "The server cannot listen on \(host), which is no address of this machine.",
                remedy: "Give an address of this machine as the host, such as 127.0.0.1; 0.0.0.0 "
                    + "is all of them."
            )
        default: nil
        }
    }

    /// Reads the certificate and its key, and reads them again now and then; `nil` for plain HTTP.
    ///
    /// A later failure is logged: the old certificate stays in use, until it expires.
    func certificateReloader(_ logger: Logger? = nil) throws -> TimedCertificateReloader? {
        guard let certificate, let privateKey else { return nil }
        // The library's errors name neither the file nor the remedy.
        let chain = try Self.contents(certificate, "certificate")
        let key = try Self.contents(privateKey, "private key")
        guard let certificates = try? NIOSSLCertificate.fromPEMBytes(chain), !certificates.isEmpty
        else { throw Self.notPEM(certificate, "certificate", begins: "CERTIFICATE") }
        guard (try? NIOSSLPrivateKey(bytes: key, format: .pem)) != nil else {
            throw Self.notPEM(privateKey, "private key without a passphrase", begins: "PRIVATE KEY")
        }
        do {
            let log = logger.map { ReloadLog($0, certificate: certificate, privateKey: privateKey) }
            let reloader = try TimedCertificateReloader.makeReloaderValidatingSources(
                configuration: .init(
                    refreshInterval: certificateInterval,
                    certificateSource: .init(location: .file(path: certificate), format: .pem),
                    privateKeySource: .init(location: .file(path: privateKey), format: .pem)
                ) { configuration in
                    // The library itself logs failures as `debug`, which servers do not write.
                    configuration.onCertificateLoadFailed = { log?.note($0.error) }
                    configuration.onCertificateLoaded = { _ in log?.noteSuccess() }
                }
            )
            return reloader
        } catch {
            throw SyncError(
                .invalidArguments,
                "The certificate \(certificate) cannot be used with the private key \(privateKey).",
                remedy: "Give the key that belongs to the first certificate of its file, alone in "
                    + "a file."
            )
        }
    }

    private static func contents(_ path: String, _ what: String) throws -> [UInt8] {
        guard let data = FileManager.default.contents(atPath: path) else {
            throw SyncError(
                .invalidArguments,
                "The file \(path) of the \(what) cannot be read.",
                remedy: "Check the path, and that the server's user may read the file."
            )
        }
        return Array(data)
    }

    private static func notPEM(_ path: String, _ what: String, begins label: String) -> SyncError {
        SyncError(
            .invalidArguments,
            "The file \(path) has no \(what) in PEM.",
            remedy: "Give a file in PEM: its first line is -----BEGIN \(label)-----."
        )
    }
}
#endif

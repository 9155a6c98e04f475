// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Client
public import TidemarkWire

/// The options of a connection to a server: its timeouts and its proxy.
public struct ConnectionOptions: Sendable {
    /// A proxy between the client and the server.
    ///
    /// The proxy looks up the server's name.
    public enum Proxy: Hashable, Sendable {
        /// An HTTP proxy, through which all connections are tunnelled by `CONNECT`, with or without
        /// TLS.
        case http(host: String, port: Int)
        /// An HTTP proxy that requires a user name and a password.
        case authenticated(host: String, port: Int, user: String, password: String)
        /// A SOCKS 5 proxy.
        case socks(host: String, port: Int)
    }

    /// The time within which a connection must be established.
    public var connectTimeout = Duration.seconds(10)
    /// The time in which an answer must begin, and the longest pause in one.
    public var requestTimeout = Duration.seconds(60)
    /// The longest silence of a stream before it counts as lost; servers write every 20 seconds.
    public var streamTimeout = Duration.seconds(60)
    /// The maximum number of connections for requests to the server, over HTTP/1.1.
    ///
    /// Streams, uploads and downloads each have another connection.
    public var connectionLimit = 8
    /// Bytes that an answer may have; a longer one is refused.
    public var answerByteLimit = 256 << 20
    /// The proxy; `nil` for none.
    public var proxy: Proxy?
    /// The file of trusted certificates in PEM; `nil` for the system's.
    public var trustedCertificates: String?
    /// True if answers may be compressed on their way; `nil` compresses unless the server is on
    /// this machine.
    public var compresses: Bool?
    /// True if records are sent as their bytes to servers that support that form; otherwise
    /// everything is JSON.
    public var usesBinaryForm = true
    /// The rule by which calls are repeated.
    public var patience = Patience()
    /// Called with each new web auth token, to store it for the next start of the program.
    public var onWebAuthToken: (@Sendable (String) -> Void)?

    /// Creates the default options.
    public init() {}

    /// Returns the options with the defaults that depend on the server's host.
    func resolved(for host: String) -> ConnectionOptions {
        var options = self
        // Between processes of one machine, compressing takes longer than sending.
        options.compresses =
            compresses ?? !["localhost", "127.0.0.1", "::1", "[::1]"].contains(host.lowercased())
        return options
    }
}
#endif

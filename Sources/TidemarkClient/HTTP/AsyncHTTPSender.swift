// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Client
import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import TidemarkModel
import TidemarkWire

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// Sends requests with AsyncHTTPClient.
struct AsyncHTTPSender: HTTPSender {
    private let client: HTTPClient

    /// Creates a sender with its own client; close it.
    init(_ options: ConnectionOptions, connectionLimit: Int, pause: Duration) throws(SyncError) {
        var configuration = HTTPClient.Configuration()
        // A token is only sent to its own server.
        configuration.redirectConfiguration = .disallow
        configuration.timeout = HTTPClient.Configuration.Timeout(
            connect: TimeAmount(options.connectTimeout),
            read: TimeAmount(pause)
        )
        // `Patience` repeats calls, with waits that the app can set. If the client retried too, each
        // repetition would take the whole `connectTimeout`, even if the server refuses at once.
        configuration.connectionPool.retryConnectionEstablishment = false
        // For HTTP/2, one connection carries all requests, and this limit does not apply.
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = connectionLimit
        if options.compresses == true {
            // The limit is for the expanded bytes: a small answer must not fill the memory.
            configuration.decompression = .enabled(limit: .size(options.answerByteLimit))
        }
        configuration.proxy =
            switch options.proxy {
            case nil: nil
            case .http(let host, let port): .server(host: host, port: port)
            case .authenticated(let host, let port, let user, let password):
                .server(
                    host: host,
                    port: port,
                    authorization: .basic(username: user, password: password)
                )
            case .socks(let host, let port): .socksServer(host: host, port: port)
            }
        if let file = options.trustedCertificates {
            var tls = TLSConfiguration.makeClientConfiguration()
            do {
                // These replace the system's certificates, and are not added to them.
                tls.trustRoots = .certificates(try NIOSSLCertificate.fromPEMFile(file))
            } catch {
                throw SyncError(
                    .invalidArguments,
                    "The certificates in \(file) cannot be read: \(error).",
                    remedy: "Give a file of certificates in PEM."
                )
            }
            configuration.tlsConfiguration = tls
        }
        client = HTTPClient(configuration: configuration)
    }

    func close() async {
        // It only fails if the client was closed before.
        try? await client.shutdown()
    }

    func send(_ request: OutgoingRequest) async throws(SyncError) -> IncomingAnswer {
        var outgoing = HTTPClientRequest(url: request.url)
        outgoing.method = .POST
        for (name, value) in request.headers { outgoing.headers.add(name: name, value: value) }
        switch request.body {
        case .message(let message): outgoing.body = .bytes(ByteBuffer(message))
        case .pieces(let pieces):
            outgoing.body = .stream(pieces.map { ByteBuffer(bytes: $0) }, length: .unknown)
        }
        do {
            // The timeout is for the head of the answer. The body is bounded by the read timeout,
            // the longest pause between two pieces, so a long stream is not cut.
            let timeout = request.timeout.map { TimeAmount($0) } ?? .hours(24 * 365)
            let answer = try await client.execute(outgoing, timeout: timeout)
            let headers = answer.headers
            return IncomingAnswer(
                status: Int(answer.status.code),
                header: { headers.first(name: $0) },
                body: AsyncHTTPBody(answer)
            )
        } catch {
            throw SyncError(lost: error)
        }
    }
}

/// The body of an answer of AsyncHTTPClient.
private struct AsyncHTTPBody: IncomingBody {
    private let body: HTTPClientResponse.Body
    private let expected: Int

    init(_ answer: HTTPClientResponse) {
        body = answer.body
        let isCoded = answer.headers.contains(name: "Content-Encoding")
        let length = answer.headers.first(name: "Content-Length").flatMap { Int($0) }
        // The length of a compressed answer says nothing about its bytes.
        expected = isCoded ? 0 : length ?? 0
    }

    func all(upTo limit: Int) async throws(SyncError) -> [UInt8] {
        var bytes: [UInt8] = []
        // A server can announce any length, so the limit bounds the reserved memory.
        bytes.reserveCapacity(min(expected, limit))
        do {
            for try await buffer in body {
                guard bytes.count + buffer.readableBytes <= limit else {
                    throw SyncError(
                        .limitExceeded,
                        "The answer has more than \(limit) bytes.",
                        remedy: "Ask for less at once, or raise ConnectionOptions.answerByteLimit."
                    )
                }
                bytes.append(contentsOf: buffer.readableBytesView)
            }
            return bytes
        } catch {
            throw SyncError(lost: error)
        }
    }

    func pieces() -> @Sendable () async throws(SyncError) -> [UInt8]? {
        let reader = PieceIterator(body)
        return { () throws(SyncError) in try await reader.next() }
    }
}

/// An iterator over the pieces of a body.
private actor PieceIterator {
    private var iterator: HTTPClientResponse.Body.AsyncIterator

    init(_ body: HTTPClientResponse.Body) {
        iterator = body.makeAsyncIterator()
    }

    func next() async throws(SyncError) -> [UInt8]? {
        do {
            // A copy, because a property of an actor cannot be used across a wait. The caller asks
            // for one piece at a time.
            var iterator = iterator
            let buffer = try await iterator.next(isolation: self)
            self.iterator = iterator
            return buffer.map { Array($0.readableBytesView) }
        } catch {
            throw SyncError(lost: error)
        }
    }
}

extension ByteBuffer {
    /// Writes a message into a buffer of its size.
    fileprivate init(_ message: WireMessage) {
        self.init()
        reserveCapacity(message.byteCount)
        writeWithUnsafeMutableBytes(minimumWritableBytes: message.byteCount) { buffer in
            message.write(to: buffer)
            return message.byteCount
        }
    }
}

extension SyncError {
    /// Creates the error for a missing or incomplete answer.
    fileprivate init(lost error: any Error) {
        switch error {
        case let error as SyncError: self = error
        case is CancellationError: self.init(.operationCancelled, "The request was cancelled.")
        case let error as HTTPClientError where error == .cancelled:
            self.init(.operationCancelled, "The request was cancelled.")
        // `networkUnavailable` is only for requests that cannot have reached the server.
        case let error as HTTPClientError
        where [.connectTimeout, .getConnectionFromPoolTimeout].contains(error):
            self.init(.networkUnavailable, "The server cannot be reached: \(error).")
        case let error as HTTPClientError where error.isFromProxy:
            self.init(
                .networkUnavailable,
                "The proxy gives no connection to the server: \(error).",
                remedy:
                    "Check ConnectionOptions.proxy, and that the proxy allows the server's port."
            )
        // The request may have arrived, and may have been done.
        case let error as HTTPClientError where [.deadlineExceeded, .readTimeout].contains(error):
            self.init(.networkFailure, "The server did not answer in time: \(error).")
        case let error as HTTPClientError where error == .alreadyShutdown:
            self.init(
                .serviceUnavailable,
                "The connection was closed.",
                remedy: "Open a new connection."
            )
        case let error as IOError where error.meansNoServer:
            self.init(.networkUnavailable, "The server cannot be reached: \(error.reason).")
        // All addresses of the host were tried.
        case let error as NIOConnectionError:
            self.init(.networkUnavailable, "The server cannot be reached: \(error.cause).")
        default: self.init(.networkFailure, "The connection to the server was lost: \(error).")
        }
    }
}

extension HTTPClientError {
    /// True if a proxy did not open a tunnel, so that the request has not left it.
    fileprivate var isFromProxy: Bool {
        [
            .proxyAuthenticationRequired, .invalidProxyResponse, .httpProxyHandshakeTimeout,
            .socksHandshakeTimeout,
        ].contains(self)
    }
}

extension NIOConnectionError {
    /// The error of the address that was tried first, or of the lookup of the host's addresses.
    fileprivate var cause: String {
        switch connectionErrors.first?.error ?? dnsAError ?? dnsAAAAError ?? self {
        case let error as IOError: error.reason
        case let error as SocketAddressError.UnknownHost:
            "the host \(error.host) has no address (\(error.errorDescription))"
        case let error: "\(error)"
        }
    }
}

extension IOError {
    /// The system's words for the error: the description also names a call of the library.
    fileprivate var reason: String { String(cString: strerror(errnoCode)) }

    /// True if nothing listens at an address, or there is no route to it.
    fileprivate var meansNoServer: Bool {
        [ECONNREFUSED, EHOSTUNREACH, ENETUNREACH].contains(errnoCode)
    }
}
#endif

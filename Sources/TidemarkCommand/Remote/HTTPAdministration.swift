// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Client
import AsyncHTTPClient
import Foundation
import NIOCore
import NIOPosix
import NIOSSL
import TidemarkModel
import TidemarkWire

/// The way to a server that answers operators, over HTTP.
struct HTTPAdministration: AdministrationTransport {
    /// The address before `/tidemark`, without a slash at its end.
    private let base: String
    /// The administrator's secret; `nil` on a socket.
    private let secret: String?

    /// The most bytes of a line: a commit of a change stream may have as many.
    private static let lineByteLimit = FileLines.lineByteCountLimit
    /// The maximum number of bytes of an error response, which a server sends instead of lines.
    private static let failureByteLimit = 1 << 20

    /// Speaks to a server at an address, as an administrator.
    init(url: String, secret: String) {
        base = url.hasSuffix("/") ? String(url.dropLast()) : url
        self.secret = secret
    }

    /// Speaks to a server on this machine, on a socket; `nil` for a path that cannot be one.
    init?(socket path: String) {
        guard let url = URL(httpURLWithSocketPath: path, uri: "") else { return nil }
        base = url.absoluteString
        secret = nil
    }

    func send(
        _ call: [UInt8],
        to name: String,
        receive: ([UInt8]) async throws -> Void
    ) async throws {
        var request = HTTPClientRequest(url: base + "/tidemark/1/administration/" + name)
        request.method = .POST
        request.headers.add(name: "Content-Type", value: "application/json")
        if let secret { request.headers.add(name: "Authorization", value: "Bearer \(secret)") }
        request.body = .bytes(call)
        // The secret and the call, which may have a password, are for this server only.
        var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
        // A server sends a line at least every ten seconds.
        configuration.timeout = .init(connect: .seconds(10), read: .seconds(45))
        // A server that does not run is an answer: `WrittenStoreArgument` then uses the files at
        // once.
        configuration.connectionPool.retryConnectionEstablishment = false
        let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
        do {
            try await receiveLines(of: request, by: client, receive)
            // A client must be shut down before it is released.
            try await client.shutdown()
        } catch {
            try? await client.shutdown()
            throw error
        }
    }

    private func receiveLines(
        of request: HTTPClientRequest,
        by client: HTTPClient,
        _ receive: ([UInt8]) async throws -> Void
    ) async throws {
        let response: HTTPClientResponse
        do {
            // No deadline, because calls may read the log for hours. The read timeout above ends a
            // connection that is silent.
            response = try await client.execute(request, deadline: .distantFuture)
        } catch {
            throw failure(error, Self.isSent(error))
        }
        // After a status of 200, an error of the call is the last line, not the status.
        guard response.status == .ok else { throw try await refusal(response) }
        var lines = Lines(limit: Self.lineByteLimit)
        var ended: (any Error)?
        do {
            for try await piece in response.body {
                do {
                    // An empty line only shows that the server still works on the call.
                    for line in try lines.take(piece.readableBytesView) where !line.isEmpty {
                        try await receive(line)
                    }
                } catch {
                    // An error of `receive` is kept apart: it is an error of the command, and no
                    // lost connection.
                    ended = error
                    throw error
                }
            }
        } catch {
            throw ended ?? failure(error, true)
        }
    }

    /// Returns the error for a call without an answer, which may have been sent or not.
    private func failure(_ error: any Error, _ isSent: Bool) -> any Error {
        if error is CancellationError || Task.isCancelled { return CancellationError() }
        guard isSent else {
            return SyncError(
                .networkUnavailable,
                "The server at \(base) cannot be reached: \(Self.reason(error)).",
                remedy: "Check the address, and that the server runs."
            )
        }
        return SyncError(
            .networkFailure,
            "The connection to \(base) was lost before the answer was complete: \(Self.reason(error)).",
            remedy: "The server may have done the call: look before you repeat the command."
        )
    }

    /// Returns false if a call cannot have reached the server.
    private static func isSent(_ error: any Error) -> Bool {
        switch error {
        case let error as HTTPClientError:
            ![.connectTimeout, .getConnectionFromPoolTimeout].contains(error)
        // A reset is not one of these: it can come after the call.
        case let error as IOError:
            ![ECONNREFUSED, ENOENT, EHOSTUNREACH, ENETUNREACH].contains(error.errnoCode)
        // All addresses of the host were tried.
        case is NIOConnectionError: false
        case NIOSSLError.handshakeFailed: false
        default: true
        }
    }

    /// Returns the reason why a call did not reach the server.
    private static func reason(_ error: any Error) -> String {
        switch error {
        // All addresses of the host were tried; without one, the lookup failed.
        case let error as NIOConnectionError:
            (error.connectionErrors.first?.error ?? error.dnsAError ?? error.dnsAAAAError)
                .map { reason($0) } ?? "\(error)"
        // The text of an `IOError` names the call of the library, too.
        case let error as IOError: describe(error.errnoCode)
        case let error as SocketAddressError.UnknownHost:
            "the host \(error.host) has no address (\(error.errorDescription))"
        case NIOSSLError.handshakeFailed(let error):
            // The library adds the line of its source.
            "the TLS handshake failed: \(error)".replacing(/\ at\ \/\S+/, with: "")
                + "; the server may expect http://"
        default: "\(error)"
        }
    }

    /// The reason why a server did not answer in lines.
    private func refusal(_ response: HTTPClientResponse) async throws -> SyncError {
        let body = try? await response.body.collect(upTo: Self.failureByteLimit)
        let line = body.map { Array($0.readableBytesView) } ?? []
        return AdministrationLines.failure(in: line)
            ?? SyncError(
                .invalidArguments,
                "The server at \(base) answered with status \(response.status.code).",
                remedy: "Check that the address is that of a Tidemark server."
            )
    }
}

/// Lines out of pieces that end anywhere.
private struct Lines {
    private var rest: [UInt8] = []
    private let limit: Int

    init(limit: Int) {
        self.limit = limit
    }

    /// Takes a piece, and returns the lines that end in it.
    mutating func take(_ piece: some Collection<UInt8>) throws(SyncError) -> [[UInt8]] {
        var parts = piece.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        // There is always a last part: without omitted parts, even an empty piece has one.
        let last = parts.removeLast()
        var lines: [[UInt8]] = []
        for part in parts {
            lines.append(rest + part)
            rest.removeAll()
        }
        rest += last
        // Only the unfinished line is checked: a complete one ends in this piece and is at most a
        // piece longer.
        guard rest.count <= limit else {
            throw SyncError(
                .limitExceeded,
                "A line of the answer has more than \(limit) bytes.",
                remedy: "Run the command on the store's own folder, or ask for less."
            )
        }
        return lines
    }
}
#endif

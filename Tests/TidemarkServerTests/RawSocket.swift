// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import Foundation

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// A connection to this machine without any client on top of it; closed when it is dropped.
final class RawSocket: Sendable {
    private let descriptor: Int32

    struct Failure: Error {
        let code = errno
    }

    init(port: Int) throws {
        #if canImport(Glibc)
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #else
        descriptor = socket(AF_INET, SOCK_STREAM, 0)
        #endif
        guard descriptor >= 0 else { throw Failure() }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        let status = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard status == 0 else { throw Failure() }
    }

    deinit {
        close(descriptor)
    }

    func send(_ text: String) throws {
        let bytes = Array(text.utf8)
        guard write(descriptor, bytes, bytes.count) == bytes.count else { throw Failure() }
    }

    /// Closes the sending side; the socket can still receive.
    func endSending() {
        shutdown(descriptor, Int32(SHUT_WR))
    }

    /// The bytes that come within some milliseconds; empty if none do or the other side has closed.
    ///
    /// Blocks no thread: the tasks of the server, which share the threads, may need it.
    func receive(within milliseconds: Int) async throws -> [UInt8] {
        let end = ContinuousClock.now + .milliseconds(milliseconds)
        var poll = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        while Foundation.poll(&poll, 1, 0) <= 0 {
            guard ContinuousClock.now < end else { return [] }
            try await Task.sleep(for: .milliseconds(2))
        }
        var bytes = [UInt8](repeating: 0, count: 1 << 16)
        let count = read(descriptor, &bytes, bytes.count)
        return Array(bytes.prefix(max(count, 0)))
    }

    /// The next answer, head and body, which may come in several pieces; what has come of it if the
    /// next piece does not come within some milliseconds.
    func answer(within milliseconds: Int) async throws -> String {
        var answer = ""
        while true {
            let piece = try await receive(within: milliseconds)
            guard !piece.isEmpty else { return answer }
            answer += String(decoding: piece, as: UTF8.self)
            guard let head = answer.range(of: "\r\n\r\n") else { continue }
            let length = answer[..<head.lowerBound].lowercased()
                .split(separator: "\r\n")
                .first { $0.hasPrefix("content-length:") }
                .flatMap { Int($0.dropFirst("content-length:".count).drop { $0 == " " }) }
            if answer[head.upperBound...].utf8.count >= length ?? 0 { return answer }
        }
    }
}
#endif

// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// An error: the reader of our output has closed it.
///
/// A normal end: `tidemark export … | head` is not a failure.
struct ClosedPipe: Error {}

/// Standard output, collected into large writes.
///
/// On a terminal every line is written at once; elsewhere output is written in pieces of 64 KiB.
/// Call ``flush()`` at the end, which throws if the rest cannot be written. After an error of other
/// work, `deinit` writes what is complete.
struct StandardOutput: ~Copyable {
    private var buffer: [UInt8] = []
    private let descriptor: Int32
    private static let flushByteCount = 64 << 10

    /// True if the output is a terminal.
    let isTerminal: Bool

    init(descriptor: Int32 = STDOUT_FILENO) {
        self.descriptor = descriptor
        isTerminal = isatty(descriptor) == 1
        buffer.reserveCapacity(2 * Self.flushByteCount)
    }

    deinit {
        if buffer.isEmpty { return }
        try? writeAll(buffer[...], to: descriptor, name: "standard output")
    }

    /// Prints one line of text on standard output.
    static func print(_ text: String) throws {
        var output = StandardOutput()
        try output.line(text)
        try output.flush()
    }

    /// Writes one line, whose bytes the closure appends, and its end.
    mutating func line(_ appendLine: (inout [UInt8]) -> Void) throws {
        appendLine(&buffer)
        buffer.append(UInt8(ascii: "\n"))
        // Checked after a whole line, so a line is never divided between two flushes.
        if isTerminal || buffer.count >= Self.flushByteCount { try flush() }
    }

    /// Writes one line of text.
    mutating func line(_ text: String) throws {
        try line { $0.append(contentsOf: text.utf8) }
    }

    /// Hands on everything written so far.
    mutating func flush() throws {
        // Also after a failed write: a second flush must not write the first part again.
        defer { buffer.removeAll(keepingCapacity: true) }
        try writeAll(buffer[...], to: descriptor, name: "standard output")
    }
}

/// Writes all of the bytes to a descriptor.
func writeAll(_ bytes: ArraySlice<UInt8>, to descriptor: Int32, name: String) throws {
    var written = 0
    while written < bytes.count {
        let count = bytes.withUnsafeBytes { all in
            write(descriptor, all.baseAddress.map { $0 + written }, all.count - written)
        }
        // A pipe may take fewer bytes than it was given.
        if count >= 0 {
            written += count
        } else if errno == EPIPE {
            throw ClosedPipe()
        } else if errno != EINTR {
            throw CommandError(attempt: "\(name) cannot be written", errno)
        }
    }
}

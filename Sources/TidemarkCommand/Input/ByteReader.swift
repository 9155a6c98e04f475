// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Reads a descriptor from start to end, in pieces that end at a delimiter or have a known length.
///
/// A returned piece is a part of the reader's own buffer and is valid until the next call, so that
/// nothing is copied. A piece may have any length; the buffer grows to hold it.
struct ByteReader: ~Copyable {
    private let descriptor: Int32
    private let name: String
    private var buffer: [UInt8]
    /// The range of bytes that have been read and not yet returned.
    private var unread = 0..<0
    private var hasEnded = false
    /// True if the last piece up to a delimiter ended with it, not with the end of the input.
    private(set) var wasDelimited = true

    /// Creates a reader of an open descriptor, which the caller continues to own.
    ///
    /// Errors contain the name.
    init(_ descriptor: Int32, name: String, bufferByteCount: Int = 256 << 10) {
        self.descriptor = descriptor
        self.name = name
        buffer = [UInt8](repeating: 0, count: bufferByteCount)
    }

    /// A piece has more bytes than it may have.
    struct PieceTooLong: Error {}

    /// The bytes before the next delimiter, or before the end if there are any; `nil` at the end.
    ///
    /// Throws ``PieceTooLong`` for a piece that has more than `limit` bytes, its delimiter counted.
    mutating func next(
        until delimiter: UInt8,
        limit: Int = .max
    ) throws -> ArraySlice<UInt8>? {
        // Bytes that were searched are not searched again after more arrive, so a long piece costs
        // one pass.
        var searched = unread.lowerBound
        while true {
            if let end = firstIndex(of: delimiter, in: searched..<unread.upperBound) {
                guard end - unread.lowerBound < limit else { throw PieceTooLong() }
                // The bytes stay in the buffer until `fill` moves them, so the returned slice is
                // valid until the next call.
                defer { unread = end + 1..<unread.upperBound }
                wasDelimited = true
                return buffer[unread.lowerBound..<end]
            }
            let searchedCount = unread.count
            // Check before the buffer grows for a piece that will be rejected.
            guard searchedCount < limit else { throw PieceTooLong() }
            guard try fill() else { return takeRest() }
            searched = unread.lowerBound + searchedCount
        }
    }

    /// Returns exactly `count` bytes; throws if the input ends before.
    mutating func next(count: Int) throws -> ArraySlice<UInt8> {
        // The count has no limit here: the caller bounds it, because the buffer grows to hold all
        // bytes.
        while unread.count < count {
            guard try fill() else { throw endedEarly }
        }
        defer { unread = unread.lowerBound + count..<unread.upperBound }
        return buffer[unread.lowerBound..<unread.lowerBound + count]
    }

    /// Skips `count` bytes.
    mutating func skip(count: Int) throws {
        var left = count
        while left > unread.count {
            left -= unread.count
            // The skipped bytes leave the buffer, so that `fill` does not grow it.
            unread = 0..<0
            guard try fill() else { throw endedEarly }
        }
        unread = unread.lowerBound + left..<unread.upperBound
    }

    private var endedEarly: CommandError {
        CommandError("\(name) ended before the announced number of bytes.")
    }

    private mutating func takeRest() -> ArraySlice<UInt8>? {
        guard !unread.isEmpty else { return nil }
        defer { unread = 0..<0 }
        wasDelimited = false
        return buffer[unread]
    }

    private func firstIndex(of byte: UInt8, in range: Range<Int>) -> Int? {
        guard !range.isEmpty else { return nil }
        return buffer.withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress,
                let found = memchr(start + range.lowerBound, Int32(byte), range.count)
            else { return nil }
            return UnsafeRawPointer(found) - start
        }
    }

    /// Reads once more after the unread bytes; returns `false` at the end.
    private mutating func fill() throws -> Bool {
        guard !hasEnded else { return false }
        makeRoom()
        while true {
            let free = unread.upperBound..<buffer.count
            let count = buffer.withUnsafeMutableBytes { bytes in
                read(descriptor, bytes.baseAddress.map { $0 + free.lowerBound }, free.count)
            }
            if count > 0 {
                unread = unread.lowerBound..<unread.upperBound + count
                return true
            }
            if count == 0 {
                // Kept, because another read of a terminal after its end would wait for input
                // again.
                hasEnded = true
                return false
            }
            // A signal that the process handles interrupts the read, and nothing was lost.
            guard errno == EINTR else {
                throw CommandError(attempt: "\(name) cannot be read", errno)
            }
        }
    }

    /// Moves the unread bytes to the front, and doubles a full buffer.
    private mutating func makeRoom() {
        // Bytes are moved only when no room is left behind them.
        guard unread.upperBound == buffer.count || unread.isEmpty else { return }
        if unread.lowerBound > 0 {
            buffer.withUnsafeMutableBytes { bytes in
                guard let start = bytes.baseAddress else { return }
                memmove(start, start + unread.lowerBound, unread.count)
            }
            unread = 0..<unread.count
        }
        if unread.count == buffer.count {
            let old = buffer
            buffer = [UInt8](unsafeUninitializedCapacity: 2 * old.count) { bytes, count in
                // At once, since a piece may have a GiB.
                bytes.initialize(repeating: 0)
                old.withUnsafeBytes { UnsafeMutableRawBufferPointer(bytes).copyMemory(from: $0) }
                count = bytes.count
            }
        }
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// An outgoing request or answer: its bytes are written once, directly to their destination.
public struct WireMessage: Sendable {
    /// The form.
    public let form: WireForm
    /// The number of its bytes.
    public let byteCount: Int
    private let append: @Sendable (inout WireWriter) -> Void

    /// Creates a message from a closure that writes the same bytes each time.
    init(_ form: WireForm, _ write: @escaping @Sendable (inout WireWriter) -> Void) {
        self.form = form
        append = write
        // The first of two passes: it only counts. The second writes into a buffer of exactly this
        // size, so a page of megabytes is never copied to a larger array.
        var counter = WireWriter()
        write(&counter)
        byteCount = counter.count
    }

    /// Wraps bytes.
    public init(_ form: WireForm, _ bytes: [UInt8]) {
        self.form = form
        byteCount = bytes.count
        append = { writer in writer.append(bytes: bytes[...]) }
    }

    /// Writes the bytes at the start of a buffer, which has room for ``byteCount``.
    public func write(to buffer: UnsafeMutableRawBufferPointer) {
        precondition(buffer.count >= byteCount, "a message needs as much room as it has bytes")
        // Only a buffer without bytes has no address, and then the message has none either.
        guard let start = buffer.baseAddress else { return }
        var writer = WireWriter(start)
        append(&writer)
        assert(writer.count == byteCount, "a message is written the same each time")
    }

    /// The bytes.
    public var bytes: [UInt8] {
        [UInt8](unsafeUninitializedCapacity: byteCount) { buffer, count in
            write(to: UnsafeMutableRawBufferPointer(buffer))
            count = byteCount
        }
    }
}

/// A received request or answer.
public struct ReceivedMessage: Sendable {
    /// The declared form.
    public let form: WireForm
    /// Its bytes, of which nothing is known.
    public let bytes: [UInt8]

    /// Wraps bytes.
    public init(_ form: WireForm, _ bytes: [UInt8]) {
        self.form = form
        self.bytes = bytes
    }
}

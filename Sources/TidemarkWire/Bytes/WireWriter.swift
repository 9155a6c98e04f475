// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkModel

/// A writer of numbers, texts and bytes (Docs/formats/wire.md), which can also only count them.
struct WireWriter {
    private let start: UnsafeMutableRawPointer?
    /// The number of bytes that were written.
    private(set) var count = 0

    /// Creates a writer that only counts.
    init() {
        start = nil
    }

    /// Creates a writer at an address after which there is enough space.
    init(_ start: UnsafeMutableRawPointer) {
        self.start = start
    }

    mutating func append(_ number: some FixedWidthInteger & BitwiseCopyable) {
        // `storeBytes` allows any alignment; texts of any length stand between numbers.
        start?.storeBytes(of: number.littleEndian, toByteOffset: count, as: type(of: number))
        count += number.bitWidth / 8
    }

    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        if let start, let source = bytes.baseAddress {
            // No check of the bounds: the first pass of `WireMessage` has counted these bytes.
            (start + count).copyMemory(from: source, byteCount: bytes.count)
        }
        count += bytes.count
    }

    mutating func append(bytes: ArraySlice<UInt8>) {
        bytes.withUnsafeBytes { append($0) }
    }

    /// Appends the number of bytes, and the bytes.
    mutating func append(blob: ArraySlice<UInt8>) {
        // A record, a token and the fields of a save are all far smaller than 4 GiB.
        append(UInt32(truncatingIfNeeded: blob.count))
        append(bytes: blob)
    }

    mutating func append(_ name: Name) {
        name.withBytes { utf8 in
            append(UInt32(truncatingIfNeeded: utf8.count))
            append(UnsafeRawBufferPointer(utf8))
        }
    }

    mutating func append(_ zone: ZoneID) {
        append(zone.name)
        // Empty for the user of the request (Docs/formats/wire.md, "Binary"), whom the server knows
        // by the credential.
        append(zone.ownerName == ZoneID.currentOwner ? Name("") : zone.owner)
    }

    /// Appends a version's tag; an empty text means none.
    mutating func append(_ tag: RecordChangeTag?) {
        append(Name(tag?.text ?? ""))
    }

    /// Appends the number of field names, and the names.
    mutating func append(_ keys: [String]) {
        append(UInt32(truncatingIfNeeded: keys.count))
        for key in keys { append(Name(key)) }
    }
}

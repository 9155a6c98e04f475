// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkLog

/// Checksums of the used pages of LMDB's file, in a separate file, because LMDB has no checksums
/// and follows the pointers of a damaged page.
///
/// Only used pages are covered. LMDB writes a commit into unused pages, so a page in use after one
/// commit is unchanged until after the next. The checks are thus valid while the next commit is
/// written and after it, even if it was interrupted.
package struct ViewChecks: Equatable, Sendable {
    /// The store that the index belongs to.
    package var store: StoreID
    /// LMDB's number of the commit after which the checks were written.
    package var transaction: UInt64
    /// The length of a page.
    package var pageByteCount: Int
    /// The XXH3-64 of the two meta pages.
    package var metaHashes: [UInt64]
    /// One chunk for every sixteen pages of the file, in order.
    package var chunks: [Chunk]

    /// Sixteen pages.
    package struct Chunk: Equatable, Sendable {
        /// The used pages of the chunk, the first one in the lowest bit; never a meta page.
        package var used: UInt16
        /// The XXH3-64 of its bytes, with zeros for pages that are not in use.
        package var hash: UInt64
    }

    /// Pages in a chunk.
    static let chunkPageCount = 16

    private static let magic = UInt64(littleEndianBytesOf: "TIDEVIEW")
    private static let headerByteCount = 64
    private static let pageByteCounts = 512...65536

    /// The bytes, as described in `Docs/formats/views.md`.
    package var encoded: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Self.headerByteCount + chunks.count * 10 + 8)
        bytes.append(integer: Self.magic)
        bytes.append(integer: ViewState.formatVersion)
        bytes.append(integer: UInt32(pageByteCount))
        bytes.append(integer: store.low)
        bytes.append(integer: store.high)
        bytes.append(integer: transaction)
        bytes.append(integer: UInt64(chunks.count))
        for hash in metaHashes { bytes.append(integer: hash) }
        for chunk in chunks { bytes.append(integer: chunk.hash) }
        for chunk in chunks { bytes.append(integer: chunk.used) }
        bytes.append(integer: xxh3(bytes.span.bytes, seed: 0))
        return bytes
    }

    package init(
        store: StoreID,
        transaction: UInt64,
        pageByteCount: Int,
        metaHashes: [UInt64],
        chunks: [Chunk]
    ) {
        self.store = store
        self.transaction = transaction
        self.pageByteCount = pageByteCount
        self.metaHashes = metaHashes
        self.chunks = chunks
    }

    /// Reads the bytes that `encoded` returned; `path` is for the error.
    package init(_ bytes: [UInt8], _ path: String) throws(ViewIndexError) {
        let raw = bytes.span.bytes
        func word(_ offset: Int) -> UInt64 {
            UInt64(littleEndian: raw.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self))
        }
        guard bytes.count >= Self.headerByteCount + 8, word(0) == Self.magic else {
            throw .damaged("\(path): it is not a checks file (\(bytes.count) bytes)")
        }
        // Before the checksum, which another version may compute in another way.
        let version = UInt32(truncatingIfNeeded: word(8))
        guard version == ViewState.formatVersion else {
            throw .damaged(
                "\(path): it has format version \(version), "
                    + "this build reads \(ViewState.formatVersion)"
            )
        }
        let end = bytes.count - 8
        guard xxh3(raw.extracting(0..<end), seed: 0) == word(end) else {
            throw .damaged("\(path): its checksum does not match")
        }
        let count = word(40)
        // This also proves that all entries that are read below lie within the bytes.
        guard count == UInt64((end - Self.headerByteCount) / 10),
            (end - Self.headerByteCount) % 10 == 0,
            Self.pageByteCounts.contains(Int(word(8) >> 32))
        else { throw .damaged("\(path): its lengths do not fit together") }
        store = StoreID(low: word(16), high: word(24))
        transaction = word(32)
        pageByteCount = Int(word(8) >> 32)
        metaHashes = [word(48), word(56)]
        chunks = (0..<Int(count)).map { index in
            let used = raw.unsafeLoadUnaligned(
                fromByteOffset: Self.headerByteCount + Int(count) * 8 + index * 2,
                as: UInt16.self
            )
            return Chunk(
                used: UInt16(littleEndian: used),
                hash: word(Self.headerByteCount + index * 8)
            )
        }
    }

    /// The number of bytes in used pages, including both meta pages.
    package var usedByteCount: UInt64 {
        UInt64(chunks.reduce(2) { $0 + $1.used.nonzeroBitCount } * pageByteCount)
    }
}

extension UInt64 {
    /// The number whose bytes, the least significant first, are eight characters of ASCII.
    fileprivate init(littleEndianBytesOf text: StaticString) {
        self = 0
        text.withUTF8Buffer { for byte in $0.reversed() { self = self << 8 | UInt64(byte) } }
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLog

/// One of the two pages at the start of LMDB's file that contain the location of the newest tree.
///
/// Read with plain reads, before LMDB maps the file and follows its pointers.
package struct LMDBMetaPage: Equatable {
    /// The commit that wrote it.
    package var transaction: UInt64
    /// The length of every page of the file.
    package var pageByteCount: Int
    /// The number of pages in the file, including unused ones.
    package var pageCount: UInt64
    /// The XXH3-64 of the whole page.
    package var hash: UInt64

    /// The minimum number of bytes required for reading the page.
    package static let byteCount = 152

    private static let magic: UInt32 = 0xBEEF_C0DE
    private static let version: UInt32 = 1
    private static let metaFlag: UInt16 = 8
    private static let noPage = UInt64.max

    /// Reads a page; `nil` if the bytes cannot be a page of LMDB's on a 64-bit little-endian
    /// machine.
    ///
    /// `bytes` is the whole page, `index` its place in the file, 0 or 1.
    package init?(_ bytes: RawSpan, at index: UInt64) {
        guard bytes.byteCount >= Self.byteCount else { return nil }
        func word(_ offset: Int) -> UInt64 {
            bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self)
        }
        func half(_ offset: Int) -> UInt32 {
            bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt32.self)
        }
        guard word(0) == index, half(8) >> 16 == Self.metaFlag, half(16) == Self.magic,
            half(20) == Self.version
        else { return nil }
        // The offsets are those of LMDB's page header, of 16 bytes, and of `MDB_meta` after it. The
        // length of a page is at 40, the roots of the free list and of the unnamed table are at 80
        // and 128. The last page is at 136, the transaction at 144.
        transaction = word(144)
        pageByteCount = Int(half(40))
        pageCount = word(136) &+ 1
        hash = xxh3(bytes, seed: 0)
        // A commit with an even number writes page 0, and one with an odd number page 1; a new file
        // has 0 in both.
        guard transaction & 1 == index || transaction == 0, pageByteCount == bytes.byteCount,
            pageCount >= 2, pageCount < 1 << 48
        else { return nil }
        for root in [word(80), word(128)] where root != Self.noPage {
            guard root >= 2, root < pageCount else { return nil }
        }
    }
}

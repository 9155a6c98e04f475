// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkLog

/// The record inside the index that contains its checkpoint; every checkpoint writes it.
package struct ViewState: Equatable {
    /// LMDB's number of the transaction that wrote the record, which detects a root of another
    /// transaction.
    package var transaction: UInt64
    /// The store that the index belongs to.
    package var store: StoreID
    /// The checkpoint of the index; `nil` for an empty index.
    package var checkpoint: ViewCheckpoint?

    /// The key of the record in LMDB's unnamed table.
    package static let key: StaticString = "state"
    /// The version of everything in the index's folder.
    package static let formatVersion: UInt32 = 4
    /// The length of the record.
    package static let byteCount = 56

    /// The bytes, as described in `Docs/formats/views.md`.
    package var encoded: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Self.byteCount)
        bytes.append(integer: Self.formatVersion)
        bytes.append(integer: UInt32(checkpoint == nil ? 0 : 1))
        bytes.append(integer: transaction)
        bytes.append(integer: store.low)
        bytes.append(integer: store.high)
        bytes.append(integer: checkpoint?.incarnation.rawValue ?? 0)
        bytes.append(integer: checkpoint?.sequence.rawValue ?? 0)
        bytes.append(integer: xxh3(bytes.span.bytes, seed: 0))
        return bytes
    }

    package init(transaction: UInt64, store: StoreID, checkpoint: ViewCheckpoint?) {
        self.transaction = transaction
        self.store = store
        self.checkpoint = checkpoint
    }

    /// Reads the bytes that `encoded` returned; `path` is for the error.
    package init(_ bytes: UnsafeRawBufferPointer, _ path: String) throws(ViewIndexError) {
        guard bytes.count == Self.byteCount else {
            throw .damaged("\(path): its state has \(bytes.count) bytes, not \(Self.byteCount)")
        }
        func word(_ offset: Int) -> UInt64 {
            UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
        }
        let body = UnsafeRawBufferPointer(rebasing: bytes[..<48])
        guard xxh3(body.bytes, seed: 0) == word(48) else {
            throw .damaged("\(path): the checksum of its state does not match")
        }
        let version = UInt32(truncatingIfNeeded: word(0))
        guard version == Self.formatVersion else {
            throw .damaged(
                "\(path): it has format version \(version); this build reads \(Self.formatVersion)"
            )
        }
        transaction = word(8)
        store = StoreID(low: word(16), high: word(24))
        if word(0) >> 32 & 1 == 1 {
            checkpoint = ViewCheckpoint(
                store: store,
                incarnation: Incarnation(rawValue: word(32)),
                sequence: SequenceNumber(rawValue: word(40))
            )
        }
    }
}

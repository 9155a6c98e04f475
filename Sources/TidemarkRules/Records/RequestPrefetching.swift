// Tidemark
// SPDX-License-Identifier: Apache-2.0

import CPlatform
package import TidemarkModel

// The names and fields of a request are all over memory. A loop that prefetches those of the next items
// does not wait for memory at each item.
//
// Swift counts a reference to a value before its bytes are read, and the count is in the same memory.
// So the address is taken from the words of a string or a slice: it is the second word of both. With
// any other word, the prefetch is useless and harmless.
extension ModifyRecordsRequest {
    /// Prefetches the name of a save that is about to be read; does nothing if there is no such save.
    package func prefetchName(ofSaveAt index: Int) {
        guard index < saves.count else { return }
        withUnsafeBytes(of: saves[index].recordID.name.string) { words in
            let flags: UInt = 0xFF << 56
            prefetch(words.load(fromByteOffset: 8, as: UInt.self) & ~flags, byteCount: 64)
        }
    }

    /// Prefetches the fields of a save that are about to be read; does nothing if there is no such
    /// save.
    func prefetchFields(ofSaveAt index: Int) {
        guard index < saves.count else { return }
        let bytes = saves[index].fields.bytes.indices
        withUnsafeBytes(of: saves[index].fields.bytes) { words in
            let headByteCount = 32
            let address = words.load(fromByteOffset: 8, as: UInt.self)
            prefetch(
                address &+ UInt(bytes.lowerBound) &- UInt(headByteCount),
                byteCount: bytes.count + headByteCount
            )
        }
    }

    private func prefetch(_ address: UInt, byteCount: Int) {
        guard let start = UnsafeRawPointer(bitPattern: address) else { return }
        tidemark_prefetch_bytes(start, byteCount)
    }
}

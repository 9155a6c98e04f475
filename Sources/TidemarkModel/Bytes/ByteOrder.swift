// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The order of names as their bytes, eight at a time.
enum ByteOrder {
    /// Compares bytes: negative if the first sorts before the second, zero if they are equal.
    @inline(__always)
    static func compare(_ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer) -> Int {
        let shared = min(first.count, second.count)
        var index = 0
        while index + 8 <= shared {
            // As big-endian numbers, eight bytes compare in the order of the bytes.
            let left = first.loadUnaligned(fromByteOffset: index, as: UInt64.self).bigEndian
            let right = second.loadUnaligned(fromByteOffset: index, as: UInt64.self).bigEndian
            if left != right { return left < right ? -1 : 1 }
            index += 8
        }
        // Most names of fields and types are shorter than eight bytes: three steps instead of
        // seven.
        if index + 4 <= shared {
            let left = first.loadUnaligned(fromByteOffset: index, as: UInt32.self).bigEndian
            let right = second.loadUnaligned(fromByteOffset: index, as: UInt32.self).bigEndian
            if left != right { return left < right ? -1 : 1 }
            index += 4
        }
        if index + 2 <= shared {
            let left = first.loadUnaligned(fromByteOffset: index, as: UInt16.self).bigEndian
            let right = second.loadUnaligned(fromByteOffset: index, as: UInt16.self).bigEndian
            if left != right { return left < right ? -1 : 1 }
            index += 2
        }
        if index < shared, first[index] != second[index] {
            return first[index] < second[index] ? -1 : 1
        }
        // A name sorts before every longer name that begins with it.
        return first.count - second.count
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkEvents

/// The changes of one checkpoint; the last change of a key is the valid one.
///
/// A change is 32 plain bytes, and the bytes of larger values are in one array, so that a batch of
/// any size takes a handful of allocations.
package struct ViewBatch: Sendable {
    /// The operation of a change on its key.
    package enum Form: UInt8 {
        case remove
        case word
        case bytes
    }

    /// One change.
    ///
    /// `word` is the value's word, or the place of its bytes in the batch.
    package struct Change {
        package var key: ViewKey
        package var word: UInt64
        package var tag: UInt8
        package var form: Form
    }

    /// The changes in the order they were made, at the place of their table's raw value.
    private var changes = [[Change]](repeating: [], count: ViewTable.allCases.count + 1)
    /// The bytes of all values that are not a word.
    private var payload: [UInt8] = []

    /// Starts an empty batch.
    package init() {}

    /// Reserves space for a number of changes of a table.
    package mutating func reserve(_ changeCount: Int, in table: ViewTable) {
        changes[Int(table.rawValue)].reserveCapacity(changeCount)
    }

    /// Sets the value of a key: a word or bytes, whichever the table has.
    ///
    /// O(1).
    package mutating func put(_ value: ViewValue, in table: ViewTable, for key: ViewKey) {
        switch value {
        case .word(let word, let tag):
            precondition(table.hasWords, "a word in a table of bytes")
            append(.word, word, tag, to: table, for: key)
        case .bytes(let bytes):
            precondition(!table.hasWords, "bytes in a table of words")
            precondition(bytes.count <= ViewValue.maximumByteCount, "a view value is too long")
            append(
                .bytes,
                // `maximumByteCount` fits into the lower 16 bits.
                UInt64(payload.count) << 16 | UInt64(bytes.count),
                0,
                to: table,
                for: key
            )
            payload += bytes
        }
    }

    /// Removes a key, which may be absent.
    ///
    /// O(1).
    package mutating func remove(_ key: ViewKey, from table: ViewTable) {
        append(.remove, 0, 0, to: table, for: key)
    }

    private mutating func append(
        _ form: Form,
        _ word: UInt64,
        _ tag: UInt8,
        to table: ViewTable,
        for key: ViewKey
    ) {
        changes[Int(table.rawValue)].append(Change(key: key, word: word, tag: tag, form: form))
    }

    /// Removes a table's changes from the batch and returns them: ascending by key, the last one of
    /// each key.
    ///
    /// O(n).
    mutating func takeSorted(_ table: ViewTable) -> [Change] {
        var sorted: [Change] = []
        // A swap, so that the array has one owner and is sorted in place.
        swap(&sorted, &changes[Int(table.rawValue)])
        ChangeSort.sort(&sorted)
        var kept = 0
        for index in sorted.indices {
            // The sort is stable, so the last of equal keys is the change that was made last.
            if kept > 0, sorted[kept - 1].key == sorted[index].key { kept -= 1 }
            sorted[kept] = sorted[index]
            kept += 1
        }
        sorted.removeSubrange(kept...)
        return sorted
    }

    /// Returns the bytes of a change of the form `bytes`.
    package func bytes(of change: Change) -> ArraySlice<UInt8> {
        let start = Int(change.word >> 16)
        return payload[start..<start + Int(change.word & 0xFFFF)]
    }

    /// Returns the value that a change sets; `nil` for a removal.
    package func value(of change: Change) -> ViewValue? {
        switch change.form {
        case .remove: nil
        case .word: .word(change.word, tag: change.tag)
        case .bytes: .bytes(Array(bytes(of: change)))
        }
    }
}

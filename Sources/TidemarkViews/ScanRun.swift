// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents

/// Entries of a scan that were read together, as plain words, so that a run takes one allocation.
struct ScanRun {
    /// One entry; `word` is its value's word, or the place of its bytes in `larger`.
    struct Entry {
        var key: ViewKey
        var word: UInt64
        var tag: UInt8
        var isBytes: Bool
    }

    private(set) var entries: [Entry] = []
    private var larger: [[UInt8]] = []
    /// The number of entries at which the run is full.
    ///
    /// The first run is short, because many scans need few entries.
    private var limit = 16

    init() {
        entries.reserveCapacity(limit)
    }

    var isFull: Bool { entries.count == limit }

    /// Decodes and adds an entry; `false` if its check does not match.
    mutating func append(
        _ value: UnsafeRawBufferPointer,
        of key: ViewKey,
        in table: ViewTable
    ) -> Bool {
        if value.count <= ViewEntryFormat.maximumWordByteCount {
            guard let (word, tag) = ViewEntryFormat.decodeWord(value, of: key, in: table) else {
                return false
            }
            entries.append(Entry(key: key, word: word, tag: tag, isBytes: false))
        } else {
            guard let bytes = ViewEntryFormat.decodeBytes(value, of: key, in: table) else {
                return false
            }
            entries.append(Entry(key: key, word: UInt64(larger.count), tag: 0, isBytes: true))
            larger.append(bytes)
        }
        return true
    }

    /// Returns the value of one of the entries.
    func value(of entry: Entry) -> ViewValue {
        entry.isBytes ? .bytes(larger[Int(entry.word)]) : .word(entry.word, tag: entry.tag)
    }

    /// Makes room for a longer run; `false` if this one was not full and is thus the last.
    mutating func startNext() -> Bool {
        guard isFull else { return false }
        // A run is decoded under the lock of its snapshot's transaction, so it is not longer.
        limit = 256
        entries.removeAll(keepingCapacity: true)
        entries.reserveCapacity(limit)
        larger.removeAll()
        return true
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents

/// Entries of a scan that are read together, under the lock of its snapshot's transaction.
protocol EntryRun {
    /// True once the run has as many entries as it may have.
    var isFull: Bool { get }

    /// Adds entries of a group until the run is full, and returns how many.
    mutating func append(_ group: EntryGroup, _ indexes: Range<Int>) -> Int

    /// Adds an entry whose value is bytes.
    mutating func append(_ bytes: [UInt8], of key: ViewKey)
}

/// The number of entries of a long run.
///
/// Others wait for the lock, so runs are not longer.
private let longRun = 256

/// Entries of all kinds, as plain words, so that a run takes one allocation.
struct ScanRun: EntryRun {
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

    mutating func append(_ group: EntryGroup, _ indexes: Range<Int>) -> Int {
        let indexes = indexes.prefix(limit - entries.count)
        entries.append(addingCapacity: indexes.count) { entries in
            for index in indexes {
                entries.append(
                    Entry(
                        key: group.key(at: index),
                        word: group.word(at: index),
                        tag: group.tag(at: index),
                        isBytes: false
                    )
                )
            }
        }
        return indexes.count
    }

    mutating func append(_ bytes: [UInt8], of key: ViewKey) {
        entries.append(Entry(key: key, word: UInt64(larger.count), tag: 0, isBytes: true))
        larger.append(bytes)
    }

    /// Returns the value of one of the entries.
    func value(of entry: Entry) -> ViewValue {
        entry.isBytes ? .bytes(larger[Int(entry.word)]) : .word(entry.word, tag: entry.tag)
    }

    /// Makes room for a longer run; `false` if this one was not full and is thus the last.
    mutating func startNext() -> Bool {
        guard isFull else { return false }
        limit = longRun
        entries.removeAll(keepingCapacity: true)
        entries.reserveCapacity(limit)
        larger.removeAll()
        return true
    }
}

/// Entries whose values are words: the result of a scan, read run by run.
struct WordRun: EntryRun {
    /// The entries of all runs so far.
    private(set) var words: [ViewWord] = []
    private let count: Int
    /// The number of entries at which the current run is full.
    private var limit: Int

    /// A first run of at most `count` entries.
    init(count: Int) {
        self.count = count
        limit = min(count, longRun)
        words.reserveCapacity(limit)
    }

    var isFull: Bool { words.count == limit }

    mutating func append(_ group: EntryGroup, _ indexes: Range<Int>) -> Int {
        let indexes = indexes.prefix(limit - words.count)
        words.append(addingCapacity: indexes.count) { words in
            for index in indexes {
                words.append(
                    ViewWord(
                        low: group.low(at: index),
                        word: group.word(at: index),
                        tag: group.tag(at: index)
                    )
                )
            }
        }
        return indexes.count
    }

    /// Does nothing: a table of words has no such entry.
    mutating func append(_ bytes: [UInt8], of key: ViewKey) {}

    /// Makes room for another run; `false` if the current one is the last.
    mutating func startNext() -> Bool {
        guard isFull, limit < count else { return false }
        limit = min(count, limit + longRun)
        return true
    }
}

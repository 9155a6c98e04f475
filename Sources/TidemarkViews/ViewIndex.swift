// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkEvents
package import TidemarkLog

/// The zone views on disk, exact at one sequence number: an ordered map that is updated by whole
/// checkpoints.
///
/// The index is a cache of the log: all of it can be computed again by folding the log. An index
/// that is missing, damaged, or from another build or store is deleted and rebuilt. This small
/// protocol lets tests use an in-memory implementation.
///
/// Every key is two 64-bit words, and no names are stored here: a record is found by a keyed hash
/// of its name, which is compared with the body in the log.
package protocol ViewIndex: AnyObject, Sendable {
    /// The position at which the index is exact; `nil` for an empty index.
    var checkpoint: ViewCheckpoint? { get }

    /// Returns a consistent snapshot of the index at its current checkpoint.
    ///
    /// The snapshot does not change with later checkpoints. Release it soon, since it keeps old
    /// pages from being reused.
    func snapshot() throws(ViewIndexError) -> any ViewSnapshot

    /// Applies a batch and moves to its checkpoint, durably, all or nothing.
    ///
    /// Called by one thread at a time; existing snapshots stay valid.
    func apply(_ batch: consuming ViewBatch, checkpoint: ViewCheckpoint) throws(ViewIndexError)

    /// Compacts the index if it is more than half as long again as necessary, or has more unused bytes
    /// than a limit.
    ///
    /// The last call by an owner that has the index open for writing; snapshots stay valid.
    func condense(spareLimit: UInt64) throws(ViewIndexError)

    /// Lets the next open of the folder use new files, even if snapshots of these are in use.
    ///
    /// The owner has made its last call, and removes the files before the folder is opened again.
    func setAside()

    /// Closes the files of an index that was not used since the last call, until the next use;
    /// returns true if they are closed.
    ///
    /// For the owner that has the index open for writing. The next use calls `place` for the path of
    /// the folder, which may have been moved, and waits for it.
    func park(reopeningAt place: @escaping @Sendable () -> String?) -> Bool

    /// The size on disk in bytes, or in memory for the in-memory implementation.
    var byteCount: UInt64 { get }

    /// The number of those bytes that are unused.
    var spareByteCount: UInt64 { get }
}

extension ViewIndex {
    /// Does nothing, because an in-memory index is always compact.
    package func condense(spareLimit: UInt64) {}

    /// Does nothing, because an in-memory index has no files.
    package func setAside() {}

    /// Does nothing, because an in-memory index has no files.
    package func park(reopeningAt place: @escaping @Sendable () -> String?) -> Bool { false }
}

/// A view index at one checkpoint, for reading.
package protocol ViewSnapshot: AnyObject, Sendable {
    /// The checkpoint of this snapshot.
    var checkpoint: ViewCheckpoint? { get }

    /// Returns the value under a key, or `nil`. O(log n).
    func value(in table: ViewTable, for key: ViewKey) throws(ViewIndexError) -> ViewValue?

    /// Visits the entries of a table with `first <= key <= last` in ascending order of keys, until
    /// `visit` returns `false`. O(log n) plus the entries visited.
    func scan(
        _ table: ViewTable,
        from first: ViewKey,
        through last: ViewKey,
        _ visit: (ViewKey, ViewValue) -> Bool
    ) throws(ViewIndexError)

    /// Returns the entries of a table with the first word `high` and `first <= second word <= last`,
    /// in ascending order, at most `count`. O(log n) plus the entries returned.
    ///
    /// For tables whose values are words: without a closure and a value of a larger type for each
    /// entry. Throws if a value is not a word.
    func words(
        in table: ViewTable,
        under high: UInt64,
        from first: UInt64,
        through last: UInt64,
        count: Int
    ) throws(ViewIndexError) -> [ViewWord]
}

/// An entry of a table whose values are words, without the first word of its key.
package struct ViewWord: Hashable, Sendable {
    /// The second word of the key.
    package var low: UInt64
    /// The word of the value.
    package var word: UInt64
    /// The tag of the value.
    package var tag: UInt8

    package init(low: UInt64, word: UInt64, tag: UInt8) {
        self.low = low
        self.word = word
        self.tag = tag
    }
}

extension ViewSnapshot {
    /// Collects the entries of a scan.
    ///
    /// For an implementation whose entries need not be decoded.
    package func words(
        in table: ViewTable,
        under high: UInt64,
        from first: UInt64,
        through last: UInt64,
        count: Int
    ) throws(ViewIndexError) -> [ViewWord] {
        guard count > 0 else { return [] }
        var words: [ViewWord] = []
        var areWords = true
        try scan(table, from: ViewKey(high, first), through: ViewKey(high, last)) { key, value in
            guard case .word(let word, let tag) = value else {
                areWords = false
                return false
            }
            words.append(ViewWord(low: key.low, word: word, tag: tag))
            return words.count < count
        }
        guard areWords else { throw .damaged("a value in table \(table) is not a word") }
        return words
    }

    /// Visits the entries of a table, as ``ViewSnapshot/scan(_:from:through:_:)`` does, for a
    /// visitor that may throw; its first error ends the walk and is thrown.
    package func visit(
        _ table: ViewTable,
        from first: ViewKey = ViewKey(0, 0),
        through last: ViewKey = ViewKey(.max, .max),
        _ visit: (ViewKey, ViewValue) throws(ViewIndexError) -> Void
    ) throws(ViewIndexError) {
        var failure: ViewIndexError?
        try scan(table, from: first, through: last) { key, value in
            do throws(ViewIndexError) {
                try visit(key, value)
                return true
            } catch {
                failure = error
                return false
            }
        }
        if let failure { throw failure }
    }
}

/// The tables of the index.
///
/// Raw values are on disk: never renumber them.
package enum ViewTable: UInt8, CaseIterable, Sendable {
    /// (zone, record slot) → sequence and kind of the record's last event.
    case names = 1
    /// (zone, sequence) → record slot and kind: the sync index, one entry per record.
    case sync = 2
    /// (zone, 0) → the state of a zone.
    case zones = 3
    /// (database, zone slot) → zone.
    case zoneNames = 4
    /// (database, sequence of a zone's last event) → zone.
    case zoneHeads = 5
    /// (request hash, high and low word) → first sequence of the commit that answered it.
    case requests = 6
    /// (reference key of zone and target, source's record slot) → zone and kind of binding.
    case references = 7
    /// (zone, record slot) → the audience of the share that the record is under.
    case audiences = 8

    /// True for a table whose values are words; the values of the others are bytes.
    package var hasWords: Bool { self != .zones }

    /// True for a table whose new keys are the greatest with their first word: positions.
    package var hasGrowingKeys: Bool { self == .sync || self == .zoneHeads }
}

/// A value: a word with an 8-bit tag, or bytes in the table of zones.
package enum ViewValue: Hashable, Sendable {
    /// A word and a small tag.
    case word(UInt64, tag: UInt8)
    /// Any bytes, at most `maximumByteCount`.
    case bytes([UInt8])

    /// The maximum number of bytes in a value.
    package static let maximumByteCount = 4096
}

/// The store and position at which an index is exact.
package struct ViewCheckpoint: Hashable, Sendable {
    /// The store's id.
    package var store: StoreID
    /// The incarnation of the store's line that the sequence belongs to.
    package var incarnation: Incarnation
    /// The index is the fold of all events up to and including this one.
    package var sequence: SequenceNumber

    package init(store: StoreID, incarnation: Incarnation, sequence: SequenceNumber) {
        self.store = store
        self.incarnation = incarnation
        self.sequence = sequence
    }
}

/// The error for an unusable index.
///
/// The remedy for damage is to delete the index and fold the log.
package struct ViewIndexError: Error, Hashable, Sendable {
    /// The reason for the error.
    package enum Reason: Hashable, Sendable {
        /// The bytes differ from the bytes written, or have a format that this build does not read.
        case damaged
        /// The disk is full; the index is unchanged.
        case full
        /// Another process has made the file longer than this process has mapped.
        case outgrown
        /// A system call failed.
        case system
        /// A writer would not see the reader, and would reuse pages under it.
        case unseen
    }

    package var reason: Reason
    /// The operation, its place, and the expected and found values.
    package var message: String

    package init(_ reason: Reason, _ message: String) {
        self.reason = reason
        self.message = message
    }
}

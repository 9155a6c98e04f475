// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkEvents
package import TidemarkLog

/// The zone views on disk, exact at one sequence number: an ordered map that changes by whole
/// checkpoints.
///
/// It is a cache of the log. Everything in it can be computed again by folding the log, and an
/// index that is missing, damaged, or from another build or store is thrown away and rebuilt. It
/// stands behind this small protocol so that tests can use an in-memory twin.
///
/// Every key is two 64-bit words, so that no name, however long, is kept here: a record is found
/// by a keyed hash of its name, and the body in the log is the witness.
package protocol ViewIndex: AnyObject, Sendable {
    /// Where the index is exact; `nil` for an empty one.
    var checkpoint: ViewCheckpoint? { get }

    /// A consistent picture of the index at its present checkpoint.
    ///
    /// It stays as it is while later checkpoints go in; drop it soon, since it holds old pages
    /// back from being used again.
    func snapshot() throws(ViewIndexError) -> any ViewSnapshot

    /// Applies a batch and moves to its checkpoint, all or nothing, durably.
    ///
    /// Called by one thread at a time; snapshots taken before stay valid.
    func apply(_ batch: consuming ViewBatch, checkpoint: ViewCheckpoint) throws(ViewIndexError)

    /// Makes it as short as it can be, if it is more than twice as long.
    ///
    /// The last call of one who has it open for writing; snapshots stay valid.
    func condense() throws(ViewIndexError)

    /// Bytes it takes on disk, or in memory for the twin.
    var byteCount: UInt64 { get }

    /// Bytes of those that hold nothing now.
    var spareByteCount: UInt64 { get }
}

extension ViewIndex {
    /// Does nothing: what is not on disk is as short as it can be.
    package func condense() {}
}

/// What an index can be asked, at one checkpoint.
package protocol ViewSnapshot: AnyObject, Sendable {
    /// The checkpoint that this picture shows.
    var checkpoint: ViewCheckpoint? { get }

    /// The value under a key, or `nil`. O(log n).
    func value(in table: ViewTable, for key: ViewKey) throws(ViewIndexError) -> ViewValue?

    /// Visits the entries of a table with `first <= key <= last` in ascending order of keys, until
    /// `visit` returns `false`. O(log n) plus the entries visited.
    func scan(
        _ table: ViewTable,
        from first: ViewKey,
        through last: ViewKey,
        _ visit: (ViewKey, ViewValue) -> Bool
    ) throws(ViewIndexError)
}

extension ViewSnapshot {
    /// Visits the entries of a table, as ``ViewSnapshot/scan(_:from:through:_:)`` does, for a visitor that
    /// may fail: its first error ends the walk, and is thrown.
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
    /// (zone, 0) → what is known about a zone.
    case zones = 3
    /// (database, zone slot) → zone.
    case zoneNames = 4
    /// (database, sequence of a zone's last event) → zone.
    case zoneHeads = 5
    /// (request hash, high and low word) → first sequence of the commit that answered it.
    case requests = 6
    /// (reference key of zone and target, source's record slot) → zone and how the source is bound.
    case references = 7
    /// (zone, record slot) → the audience that sees the record by the share it is under.
    case audiences = 8
}

/// A value: one word with eight bits beside it, or bytes where a word is too small (zones).
package enum ViewValue: Hashable, Sendable {
    /// A word and a small tag: what nearly every entry is. Small words take less room.
    case word(UInt64, tag: UInt8)
    /// Any bytes, at most `maximumByteCount`.
    case bytes([UInt8])

    /// How many bytes a value may have.
    package static let maximumByteCount = 4096
}

/// Where an index is exact, and of which store.
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

/// Why an index could not be used.
///
/// The remedy for damage is always the same: delete the index and fold the log.
package struct ViewIndexError: Error, Hashable, Sendable {
    /// What went wrong.
    package enum Reason: Hashable, Sendable {
        /// The bytes are not what was written, or not of a format that this build reads.
        case damaged
        /// The disk is full; the index is as it was before.
        case full
        /// The system refused a call.
        case system
    }

    package var reason: Reason
    /// What, where, expected, found.
    package var message: String

    package init(_ reason: Reason, _ message: String) {
        self.reason = reason
        self.message = message
    }
}

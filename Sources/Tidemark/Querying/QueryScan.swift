// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel
import TidemarkRules

/// A query without an index, which reads every record of its zones.
///
/// Names and sort values of the matches are held in memory.
struct QueryScan {
    private struct Match {
        var sequence: SequenceNumber
        var zone: ZoneKey
        /// The record without the fields that the order does not use.
        var body: RecordBody
    }

    private let recordType: [UInt8]
    private let matcher: Query.Matcher
    private let order: Query.RecordOrder
    private let sortKeys: FieldSelection
    /// Returns true if a record is shown to the caller; `nil` if every record is.
    private let shows: ((RecordBody) throws(SyncError) -> Bool)?
    private var matches: [Match] = []
    /// True if the scan has met a record of the type, matching or not.
    private(set) var hasMetType = false

    /// Prepares a query.
    init(
        _ query: Query,
        now: Int64,
        searchedFields: [String]?,
        shows: ((RecordBody) throws(SyncError) -> Bool)?
    ) throws(SyncError) {
        self.shows = shows
        recordType = Array(query.recordType.utf8)
        matcher = try Query.Matcher(query.predicate, now: now, searchedFields: searchedFields)
        order = Query.RecordOrder(query.sortDescriptors)
        sortKeys = FieldSelection(
            query.sortDescriptors.compactMap { descriptor in
                if case .field(let name) = descriptor.key { name.string } else { nil }
            }
        )
    }

    /// Reads the records that some events saved, in ascending order.
    ///
    /// Events that the source cannot read are skipped.
    mutating func look(
        at sequences: [SequenceNumber],
        of source: any EventSource
    ) throws(SyncError) {
        try source.visit(sequences) { (event) throws(SyncError) in
            try look(at: event)
            return true
        }
    }

    private mutating func look(at event: LogEvent) throws(SyncError) {
        let body = try event.savedBody()
        // Before any field is looked at: this runs for every record of the zones.
        guard body.recordTypeBytes.elementsEqual(recordType) else { return }
        hasMetType = true
        guard matcher.matches(body), try shows?(body) ?? true else { return }
        // A copy, since the body would keep the log's block.
        let bytes = Array(sortKeys.narrow(body).bytes)
        matches.append(
            Match(sequence: event.sequence, zone: event.zone, body: RecordBody(sound: bytes[...]))
        )
    }

    /// Returns the events that saved the matches, in the query's order.
    consuming func sequences() -> [SequenceNumber] {
        let order = order
        // Names are unique within a zone only, so the zone decides between records that compare as
        // equal.
        matches.sort { first, second in
            let order = order.compare(first.body, second.body)
            return order == 0 ? first.zone < second.zone : order < 0
        }
        return matches.map(\.sequence)
    }
}

extension LogEvent {
    /// The body of the record that the event saved.
    fileprivate func savedBody() throws(SyncError) -> RecordBody {
        try SyncError.wrapping { () throws(EventFormatError) in
            try StoredRecord(sequence, zone: zone, payload).body()
        }
    }
}

/// The results of a query without an index, kept for its next page.
///
/// The log does not change in the past, nor in a store that is open for reading. So the same query
/// has the same results at the same time.
struct ScannedQuery: Sendable {
    /// The values that determine the results.
    ///
    /// They are compared as a whole: a caller could make a query with the hash of another one, and
    /// would get the results of another user.
    struct Key: Hashable, Sendable {
        var query: Query
        var database: DatabaseID
        var zone: ZoneID?
        var user: UserID?
        var bound: SequenceNumber
        /// The time that `now()` stands for, in milliseconds since 1970.
        var now: Int64
    }

    /// Longer answers are found again for each page.
    static let keptCount = 1 << 20

    /// The query, place, caller, point and time.
    var key: Key
    /// The events that saved the matches, in the query's order.
    var sequences: [SequenceNumber]
    /// The zones that were looked into, by key.
    var zones: [ZoneKey: ZoneID]
    /// The access of the caller to a zone of another user.
    ///
    /// Not the picture by which records are shown: compaction waits until nobody has an old one.
    var access: ZoneAccess?
}

/// The place where a page of a scanned query ended, as a number of records.
struct ScanCursor: Hashable, Sendable {
    /// The first byte; cursors of the index begin with another one.
    private static let form: UInt8 = 4

    /// A hash that identifies query, place and point.
    var signature: UInt64
    /// The last event that any page sees.
    var bound: SequenceNumber
    /// The number of records on earlier pages.
    var offset: Int
    /// The time that `now()` stands for on all pages, in milliseconds since 1970.
    var now: Int64

    /// The cursor as bytes that clients may keep.
    var bytes: [UInt8] {
        var bytes = [Self.form]
        bytes.append(integer: signature)
        bytes.append(integer: UInt64(offset))
        bytes.append(integer: UInt64(bitPattern: now))
        bytes.append(integer: bound.rawValue)
        return bytes
    }

    init(signature: UInt64, bound: SequenceNumber, offset: Int, now: Int64) {
        self.signature = signature
        self.bound = bound
        self.offset = offset
        self.now = now
    }

    /// Reads a cursor; `nil` for bytes that are none.
    init?(bytes: [UInt8]) {
        let span = bytes.span.bytes
        guard bytes.count == 33, bytes[0] == Self.form,
            let offset = Int(exactly: span.integer(at: 9, as: UInt64.self))
        else { return nil }
        self.init(
            signature: span.integer(at: 1, as: UInt64.self),
            bound: SequenceNumber(rawValue: span.integer(at: 25, as: UInt64.self)),
            offset: offset,
            now: Int64(bitPattern: span.integer(at: 17, as: UInt64.self))
        )
    }
}

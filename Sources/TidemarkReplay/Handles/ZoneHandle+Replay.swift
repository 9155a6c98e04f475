// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import Tidemark
public import TidemarkDatabase
public import TidemarkModel

// Questions about the past, for the handles with which records are saved. They need a handle that
// was made from a store.

extension ZoneHandle {
    /// Returns the history of a record, newest first; see ``RecordHistory``.
    ///
    /// ```swift
    /// for try await entry in garden.history(of: "water") {
    ///     if case .change(let change) = entry { print(change.origin.sequence, change.happening) }
    /// }
    /// ```
    ///
    /// The content is fixed when iteration begins. Iteration throws `unknownItem` if there
    /// never was such a record.
    public func history(of record: some RecordNamed) -> HistoryOfRecord {
        HistoryOfRecord(zone: self, record: record.recordID(in: id))
    }

    /// Returns the event that set each field of a record, as it is or as it was.
    public func blame(
        of record: some RecordNamed,
        asOf point: PointInTime? = nil
    ) async throws -> Blame {
        let store = try database.store
        return try await store.blame(
            of: try recordID(record),
            in: database.id,
            asOf: try point?.position(in: store)
        )
    }

    /// Explains why a device does not have a record, or has another version of it.
    public func explainAbsence(
        of record: some RecordNamed,
        from device: String,
        of user: String? = nil,
        asOf point: PointInTime? = nil
    ) async throws -> Explanation {
        let store = try database.store
        return try await store.explainAbsence(
            of: try recordID(record),
            in: database.id,
            asOf: try point?.position(in: store),
            from: device,
            of: user.map { UserID($0) } ?? database.user
        )
    }

    /// Returns the stretches in which records matched a condition, between two points.
    public func holding(
        of filter: Query.Filter,
        type: String? = nil,
        after first: PointInTime? = nil,
        through last: PointInTime? = nil
    ) async throws -> Holding {
        let store = try database.store
        return try await store.holding(
            of: try filter.predicate(),
            type: type,
            in: database.id,
            zone: id,
            after: try first?.position(in: store) ?? .zero,
            through: try last?.position(in: store)
        )
    }
}

/// All that happened to a record of a zone; see ``ZoneHandle/history(of:)``.
public struct HistoryOfRecord: AsyncSequence, Sendable {
    /// An element of a history.
    public typealias Element = RecordHistory.Entry

    fileprivate let zone: ZoneHandle
    fileprivate let record: RecordID

    /// Begins with the newest entry.
    public func makeAsyncIterator() -> Iterator { Iterator(self) }

    /// Reads one entry at a time.
    public struct Iterator: AsyncIteratorProtocol {
        private let history: HistoryOfRecord
        private var entries: RecordHistory.Iterator?

        fileprivate init(_ history: HistoryOfRecord) {
            self.history = history
        }

        /// The next older entry; `nil` after the oldest.
        public mutating func next() async throws -> RecordHistory.Entry? {
            try Task.checkCancellation()
            var entries: RecordHistory.Iterator
            if let begun = self.entries {
                entries = begun
            } else {
                let database = history.zone.database
                let record = try history.zone.recordID(history.record)
                entries = try await database.store.history(of: record, in: database.id)
                    .makeAsyncIterator()
            }
            let entry = try await entries.next(isolation: #isolation)
            self.entries = entries
            return entry
        }
    }
}

extension ZoneHandle {
    /// Visits the differences in the zone between two points, or since one, until `visit` returns
    /// `false`.
    ///
    /// O(events between the points).
    public func visitDifferences(
        after first: PointInTime,
        through last: PointInTime? = nil,
        of record: String? = nil,
        _ visit: (Difference) throws -> Bool
    ) async throws {
        let store = try database.store
        try await store.visitDifferences(
            after: try first.position(in: store),
            through: try last?.position(in: store),
            of: database.id,
            in: id,
            record: record,
            visit
        )
    }

    /// Returns the part of the store that reproduces a problem with some records of the zone: their
    /// histories, and the records that they need.
    ///
    /// O(versions of the records and of those that they need).
    public func makeCase(of records: [any RecordNamed]) async throws -> Case {
        let ids = try records.map { (record) throws(SyncError) in try recordID(record) }
        return try await database.store.makeCase(of: ids, in: database.id)
    }
}

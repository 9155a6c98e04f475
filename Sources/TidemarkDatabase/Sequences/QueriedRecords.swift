// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import TidemarkModel

/// The records that fulfil a query, in its order: a sequence that fetches pages as they are needed.
///
/// Each iteration runs the query again. ``all()`` collects all records, ``first()`` returns one.
public struct QueriedRecords<Element: Sendable>: AsyncSequence, Sendable {
    let database: Database
    let zone: ZoneID?
    let recordType: String
    let filter: Query.Filter
    let order: [Query.SortDescriptor]
    let decode: @Sendable (Record) throws(SyncError) -> Element

    /// The maximum number of records in a page; `nil` leaves it to the store.
    public var pageLimit: Int?
    /// The end of a page of the same query, from which to continue.
    public var cursor: QueryPageCursor?

    /// The pages as they are fetched.
    public var pages: Pages { Pages(query: self) }

    /// Returns all results.
    public func all() async throws -> [Element] {
        var all: [Element] = []
        for try await page in pages { all += page.records }
        return all
    }

    /// Returns the first result; `nil` if there is none.
    public func first() async throws -> Element? {
        var query = self
        query.pageLimit = 1
        for try await element in query { return element }
        return nil
    }

    /// Starts the query.
    public func makeAsyncIterator() -> Iterator { Iterator(pages: pages.makeAsyncIterator()) }

    /// An iterator over the records.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var pages: Pages.Iterator
        private var page: ArraySlice<Element> = []

        fileprivate init(pages: Pages.Iterator) {
            self.pages = pages
        }

        /// Returns the next record; `nil` after the last.
        public mutating func next() async throws -> Element? {
            while page.isEmpty {
                guard let next = try await pages.next() else { return nil }
                page = next.records[...]
            }
            return page.popFirst()
        }
    }

    /// One page of the results.
    public struct Page: Sendable {
        /// The records, in the query's order.
        public let records: [Element]
        /// The start of the next page; `nil` if there is none.
        public let cursor: QueryPageCursor?
    }

    /// The pages of the results.
    public struct Pages: AsyncSequence, Sendable {
        fileprivate let query: QueriedRecords

        /// Starts the query.
        public func makeAsyncIterator() -> Iterator { Iterator(query) }

        /// Fetches one page at a time.
        public struct Iterator: AsyncIteratorProtocol {
            private let query: QueriedRecords
            private var cursor: QueryPageCursor?
            private var isAtEnd = false

            fileprivate init(_ query: QueriedRecords) {
                self.query = query
                cursor = query.cursor
            }

            /// Returns the next page; `nil` after the last.
            public mutating func next() async throws -> Page? {
                if isAtEnd { return nil }
                try Task.checkCancellation()
                let request = QueryRequest(
                    Query(
                        recordType: query.recordType,
                        predicate: try query.filter.predicate(),
                        sortDescriptors: query.order
                    ),
                    in: query.zone,
                    after: cursor,
                    limit: query.pageLimit
                )
                let database = query.database
                let answer = try await database.service.query(request, as: database.caller)
                // Decoded first: after an error, the next page is this one again.
                let records = try answer.records.map { (record) throws(SyncError) in
                    try query.decode(record)
                }
                cursor = answer.cursor
                isAtEnd = answer.cursor == nil
                return Page(records: records, cursor: answer.cursor)
            }
        }
    }
}

extension ZoneHandle {
    /// Returns the records of a type that fulfil a condition, as typed values.
    ///
    /// ```swift
    /// let open = garden.query(Chore.self, where: "state == \(state)", sortedBy: "due")
    /// for try await chore in open { print(chore.title) }
    /// ```
    ///
    /// Values in the condition are arguments, never text. Records without the sorting field come
    /// first.
    ///
    /// Throws `unknownItem` for a type that no record was saved of yet; `invalidArguments` for a
    /// condition that cannot be read.
    public func query<Value: RecordCodable>(
        _ type: Value.Type,
        where filter: Query.Filter = .all,
        sortedBy order: Query.SortDescriptor...
    ) -> QueriedRecords<Stored<Value>> {
        database.query(type.recordType, zone: id, filter, order) { (record) throws(SyncError) in
            try Stored(record)
        }
    }

    /// Returns the records of a type that fulfil a condition.
    public func query(
        _ recordType: String,
        where filter: Query.Filter = .all,
        sortedBy order: Query.SortDescriptor...
    ) -> QueriedRecords<Record> {
        database.query(recordType, zone: id, filter, order) { $0 }
    }
}

extension Database {
    /// Returns the records of a type in all zones that fulfil a condition, as typed values; not in
    /// a shared database.
    public func query<Value: RecordCodable>(
        _ type: Value.Type,
        where filter: Query.Filter = .all,
        sortedBy order: Query.SortDescriptor...
    ) -> QueriedRecords<Stored<Value>> {
        query(type.recordType, zone: nil, filter, order) { (record) throws(SyncError) in
            try Stored(record)
        }
    }

    fileprivate func query<Element: Sendable>(
        _ recordType: String,
        zone: ZoneID?,
        _ filter: Query.Filter,
        _ order: [Query.SortDescriptor],
        _ decode: @escaping @Sendable (Record) throws(SyncError) -> Element
    ) -> QueriedRecords<Element> {
        QueriedRecords(
            database: self,
            zone: zone,
            recordType: recordType,
            filter: filter,
            order: order,
            decode: decode
        )
    }
}

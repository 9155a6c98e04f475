// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TidemarkModel

/// Finds one page of records.
///
/// Unchecked: see ``CKOperation``.
open class CKQueryOperation: CKDatabaseOperation, @unchecked Sendable {
    /// The end of a page.
    public typealias Cursor = CKQueryCursor

    /// Leaves it to the service how many records a page has.
    public class var maximumResults: Int { 0 }

    /// Creates an operation without work.
    public override init() {}

    /// Creates an operation that finds the records that fulfil a query.
    public convenience init(query: CKQuery) {
        self.init()
        // Observers of properties are not called here.
        self.query = query.copy() as? CKQuery
    }

    /// Creates an operation that continues at the end of a page.
    public convenience init(cursor: Cursor) {
        self.init()
        self.cursor = cursor
    }

    /// The query; ignored if there is a cursor.
    ///
    /// Copied when it is set, so that later changes of the query do not change the operation.
    open var query: CKQuery? { didSet { query = query?.copy() as? CKQuery } }
    /// The start of the next page.
    open var cursor: Cursor?
    /// The zone to search; `nil` for all zones of the database.
    open var zoneID: CKRecordZone.ID?
    /// The maximum number of records to find; ``maximumResults`` leaves it to the service.
    open var resultsLimit = CKQueryOperation.maximumResults
    /// The fields to fetch; `nil` for all of them.
    open var desiredKeys: [CKRecord.FieldKey]?

    /// Called for each record.
    open var recordMatchedBlock: ((CKRecord.ID, Result<CKRecord, any Error>) -> Void)?
    /// Called at the end, with the cursor of the next page; `nil` if there is none.
    open var queryResultBlock: ((Result<Cursor?, any Error>) -> Void)?
    /// Called for each record that was found.
    open var recordFetchedBlock: ((CKRecord) -> Void)?
    /// Called at the end, with the cursor of the next page; `nil` if there is none.
    open var queryCompletionBlock: ((Cursor?, (any Error)?) -> Void)?

    private var next: Cursor?
    /// The errors of records, for the block that gets no records with errors.
    private var failures: [AnyHashable: any Error] = [:]

    override func perform(_ session: Session) async throws(CKError) {
        var request: QueryRequest
        if let cursor {
            request = cursor.request
        } else if let query {
            request = QueryRequest(try query.model, in: zoneID?.model)
        } else {
            throw CKError(
                .invalidArguments,
                "The operation has neither a query nor a cursor; set one of them."
            )
        }
        // Limit and fields are the operation's own, also with a cursor: they may differ from page
        // to page. The cursor determines the query and the zone.
        request.limit = resultsLimit > 0 ? resultsLimit : nil
        request.desiredKeys = desiredKeys
        let asked = request
        let page = try await session.call { (service, caller) async throws(SyncError) in
            try await service.query(asked, as: caller)
        }
        for model in page.records {
            let id = CKRecord.ID(model.recordID)
            let outcome: Result<CKRecord, any Error>
            do throws(CKError) {
                outcome = .success(try await session.fetched(model))
            } catch {
                guard !isCancelled else { throw error }
                outcome = .failure(error)
            }
            tell(.fetched(id, outcome))
        }
        // After the records of the page: a stored answer delivers its reports in this order.
        if let cursor = page.cursor { tell(.cursor(Cursor(asked, endedAt: cursor))) }
    }

    override func deliver(_ report: OperationReport) {
        switch report {
        case .fetched(let id, let outcome):
            recordMatchedBlock?(id, outcome)
            if let record = outcome.value { recordFetchedBlock?(record) }
            failures[id] = outcome.error
        case .cursor(let cursor): next = cursor
        default: break
        }
    }

    override func keep(in request: inout KeptRequest) {
        request.keep(query, as: "query")
        request.keep(cursor, as: "cursor")
        request.zoneIDs = zoneID.map { [$0.archived] } ?? []
        request.desiredKeys = desiredKeys
        request.numbers = ["limit": resultsLimit]
    }

    override func restore(from request: KeptRequest) {
        query = request.object("query", of: CKQuery.self)
        cursor = request.object("cursor", of: CKQueryCursor.self)
        zoneID = request.zoneIDs.first.map { CKRecordZone.ID($0) }
        desiredKeys = request.desiredKeys
        resultsLimit = request.numbers["limit"] ?? CKQueryOperation.maximumResults
    }

    override func complete(_ error: (any Error)?) {
        let next = error == nil ? next : nil
        queryResultBlock?(error.map { .failure($0) } ?? .success(next))
        queryCompletionBlock?(next, error ?? CKError.ofItems(failures))
    }
}

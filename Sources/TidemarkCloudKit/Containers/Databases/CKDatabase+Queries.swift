// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation

extension CKDatabase {
    /// One page of the results of a query, with the cursor of the next page.
    public typealias QueryMatches = (
        matchResults: [(CKRecord.ID, Result<CKRecord, any Error>)],
        queryCursor: CKQueryOperation.Cursor?
    )

    /// Finds records, a page of them.
    @preconcurrency
    public func fetch(
        withQuery query: CKQuery,
        inZoneWith zoneID: CKRecordZone.ID? = nil,
        desiredKeys: [CKRecord.FieldKey]? = nil,
        resultsLimit: Int = CKQueryOperation.maximumResults,
        completionHandler: @escaping @Sendable (Result<QueryMatches, any Error>) -> Void
    ) {
        let operation = CKQueryOperation(query: query)
        finding(operation, zoneID, desiredKeys, resultsLimit, completionHandler)
    }

    /// Finds the next page of records.
    @preconcurrency
    public func fetch(
        withCursor queryCursor: CKQueryOperation.Cursor,
        desiredKeys: [CKRecord.FieldKey]? = nil,
        resultsLimit: Int = CKQueryOperation.maximumResults,
        completionHandler: @escaping @Sendable (Result<QueryMatches, any Error>) -> Void
    ) {
        let operation = CKQueryOperation(cursor: queryCursor)
        finding(operation, nil, desiredKeys, resultsLimit, completionHandler)
    }

    /// Records that fulfil a query, a page of them.
    public func records(
        matching query: CKQuery,
        inZoneWith zoneID: CKRecordZone.ID? = nil,
        desiredKeys: [CKRecord.FieldKey]? = nil,
        resultsLimit: Int = CKQueryOperation.maximumResults
    ) async throws -> QueryMatches {
        try await answer {
            finding(CKQueryOperation(query: query), zoneID, desiredKeys, resultsLimit, $0)
        }
    }

    /// Returns the next page of records that fulfil a query.
    public func records(
        continuingMatchFrom queryCursor: CKQueryOperation.Cursor,
        desiredKeys: [CKRecord.FieldKey]? = nil,
        resultsLimit: Int = CKQueryOperation.maximumResults
    ) async throws -> QueryMatches {
        try await answer {
            finding(CKQueryOperation(cursor: queryCursor), nil, desiredKeys, resultsLimit, $0)
        }
    }

    /// Records that fulfil a query, a page of them.
    @available(*, deprecated, message: "Use records(matching:inZoneWith:desiredKeys:resultsLimit:)")
    @_disfavoredOverload
    public func records(
        matching query: CKQuery,
        inZoneWith zoneID: CKRecordZone.ID?
    ) async throws -> [CKRecord] {
        let page: QueryMatches = try await answer { handler in
            finding(CKQueryOperation(query: query), zoneID) { handler($0) }
        }
        // This form has no place for the errors of single records.
        return page.matchResults.compactMap(\.1.value)
    }

    @discardableResult
    func finding(
        _ operation: CKQueryOperation,
        _ zoneID: CKRecordZone.ID?,
        _ desiredKeys: [CKRecord.FieldKey]? = nil,
        _ resultsLimit: Int = CKQueryOperation.maximumResults,
        _ handler: @escaping ResultHandler<QueryMatches>
    ) -> CKOperation {
        if let zoneID { operation.zoneID = zoneID }
        operation.desiredKeys = desiredKeys
        operation.resultsLimit = resultsLimit
        let found = Collected<[(CKRecord.ID, Result<CKRecord, any Error>)]>([])
        operation.recordMatchedBlock = { id, result in found.add { $0.append((id, result)) } }
        operation.queryResultBlock = { result in
            handler(result.map { (found.items, $0) })
        }
        return begin(operation)
    }
}

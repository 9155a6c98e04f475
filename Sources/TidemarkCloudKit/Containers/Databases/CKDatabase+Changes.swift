// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation

extension CKDatabase {
    /// A change to a zone of a database.
    public enum DatabaseChange {
        /// A zone is new, or something in it has changed.
        public struct Modification: Hashable, Sendable {
            /// The zone.
            public let zoneID: CKRecordZone.ID
        }

        /// A zone is gone.
        public struct Deletion: Hashable, Sendable {
            /// The reason why a zone is gone.
            public enum Reason: Hashable, Sendable {
                /// A client deleted it.
                case deleted
                /// The user removed the app's data.
                case purged
                /// The account's encryption was reset.
                case encryptedDataReset
            }

            /// The zone.
            public let zoneID: CKRecordZone.ID
            /// The reason why the zone is gone.
            public let reason: Reason

            /// True if the user removed the app's data.
            @available(*, deprecated, message: "Use reason")
            public var purged: Bool { reason == .purged }
        }
    }

    /// A change to a record of a zone.
    public enum RecordZoneChange {
        /// A record is new or has changed.
        public struct Modification: Hashable, Sendable {
            /// The record's latest version.
            public let record: CKRecord
        }

        /// A record is gone.
        public struct Deletion: Hashable, Sendable {
            /// The record.
            public let recordID: CKRecord.ID
            /// The type of the deleted record.
            public let recordType: CKRecord.RecordType
        }
    }

    /// One page of the changes to zones.
    public typealias ZonesPage = (
        modifications: [DatabaseChange.Modification],
        deletions: [DatabaseChange.Deletion],
        changeToken: CKServerChangeToken,
        moreComing: Bool
    )

    /// One page of the changes to records.
    public typealias RecordsPage = (
        modificationResultsByID: [CKRecord.ID: Result<RecordZoneChange.Modification, any Error>],
        deletions: [RecordZoneChange.Deletion],
        changeToken: CKServerChangeToken,
        moreComing: Bool
    )

    // MARK: Zones

    /// Fetches which zones changed after a token.
    @preconcurrency
    public func fetchDatabaseChanges(
        since changeToken: CKServerChangeToken?,
        resultsLimit: Int? = nil,
        completionHandler: @escaping @Sendable (Result<ZonesPage, any Error>) -> Void
    ) {
        fetchingChanges(changeToken, resultsLimit, completionHandler)
    }

    /// Returns one page of the zones that changed after a token.
    public func databaseChanges(
        since changeToken: CKServerChangeToken?,
        resultsLimit: Int? = nil
    ) async throws -> ZonesPage {
        try await answer { fetchingChanges(changeToken, resultsLimit, $0) }
    }

    @discardableResult
    private func fetchingChanges(
        _ token: CKServerChangeToken?,
        _ limit: Int?,
        _ handler: @escaping ResultHandler<ZonesPage>
    ) -> CKOperation {
        let operation = CKFetchDatabaseChangesOperation(previousServerChangeToken: token)
        operation.fetchAllChanges = false
        operation.resultsLimit = limit ?? 0
        let changed = Collected<[DatabaseChange.Modification]>([])
        let deleted = Collected<[DatabaseChange.Deletion]>([])
        let tellDeletion = { @Sendable (reason: DatabaseChange.Deletion.Reason) in
            { @Sendable (id: CKRecordZone.ID) in
                deleted.add { $0.append(.init(zoneID: id, reason: reason)) }
            }
        }
        operation.recordZoneWithIDChangedBlock = { id in
            changed.add { $0.append(.init(zoneID: id)) }
        }
        operation.recordZoneWithIDWasDeletedBlock = tellDeletion(.deleted)
        operation.recordZoneWithIDWasPurgedBlock = tellDeletion(.purged)
        operation.recordZoneWithIDWasDeletedDueToUserEncryptedDataResetBlock =
            tellDeletion(.encryptedDataReset)
        operation.fetchDatabaseChangesResultBlock = { result in
            handler(
                result.map { (changed.items, deleted.items, $0.serverChangeToken, $0.moreComing) }
            )
        }
        return begin(operation)
    }

    // MARK: Records

    /// Fetches the changes in a zone after a token.
    @preconcurrency
    public func fetchRecordZoneChanges(
        inZoneWith zoneID: CKRecordZone.ID,
        since changeToken: CKServerChangeToken?,
        desiredKeys: [CKRecord.FieldKey]? = nil,
        resultsLimit: Int? = nil,
        completionHandler: @escaping @Sendable (Result<RecordsPage, any Error>) -> Void
    ) {
        fetchingChanges(of: zoneID, changeToken, desiredKeys, resultsLimit, completionHandler)
    }

    /// Returns one page of the changes in a zone after a token.
    public func recordZoneChanges(
        inZoneWith zoneID: CKRecordZone.ID,
        since changeToken: CKServerChangeToken?,
        desiredKeys: [CKRecord.FieldKey]? = nil,
        resultsLimit: Int? = nil
    ) async throws -> RecordsPage {
        try await answer {
            fetchingChanges(of: zoneID, changeToken, desiredKeys, resultsLimit, $0)
        }
    }

    @discardableResult
    private func fetchingChanges(
        of zoneID: CKRecordZone.ID,
        _ token: CKServerChangeToken?,
        _ desiredKeys: [CKRecord.FieldKey]?,
        _ limit: Int?,
        _ handler: @escaping ResultHandler<RecordsPage>
    ) -> CKOperation {
        let operation = CKFetchRecordZoneChangesOperation(
            recordZoneIDs: [zoneID],
            configurationsByRecordZoneID: [
                zoneID: .init(
                    previousServerChangeToken: token,
                    resultsLimit: limit,
                    desiredKeys: desiredKeys
                )
            ]
        )
        operation.fetchAllChanges = false
        let changed = Collected<[CKRecord.ID: Result<RecordZoneChange.Modification, any Error>]>(
            [:]
        )
        let deleted = Collected<[RecordZoneChange.Deletion]>([])
        let page = Collected<Result<(CKServerChangeToken, Bool), any Error>?>(nil)
        operation.recordWasChangedBlock = { id, result in
            changed.add { $0[id] = result.map { .init(record: $0) } }
        }
        operation.recordWithIDWasDeletedBlock = { id, type in
            deleted.add { $0.append(.init(recordID: id, recordType: type)) }
        }
        operation.recordZoneFetchResultBlock = { _, result in
            page.add { $0 = result.map { ($0.serverChangeToken, $0.moreComing) } }
        }
        operation.fetchRecordZoneChangesResultBlock = { result in
            // The zone's own block has the zone's error. The error of the operation wraps it in
            // `partialFailure`.
            let outcome =
                page.items
                ?? .failure(result.error ?? CKError(.internalError, "The zone was not fetched."))
            handler(outcome.map { (changed.items, deleted.items, $0.0, $0.1) })
        }
        return begin(operation)
    }
}

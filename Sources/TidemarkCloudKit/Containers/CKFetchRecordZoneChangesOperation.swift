// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import Foundation
import TidemarkModel

/// Fetches the changes in zones.
///
/// Unchecked: see ``CKOperation``.
open class CKFetchRecordZoneChangesOperation: CKDatabaseOperation, @unchecked Sendable {
    /// The start and the scope of the fetch of a zone.
    ///
    /// Unchecked: set before the operation is added to a queue, and not afterwards.
    open class ZoneConfiguration: NSObject, NSCopying, @unchecked Sendable {
        /// The token of the last fetch; `nil` fetches everything.
        open var previousServerChangeToken: CKServerChangeToken?
        /// The maximum number of records in a page; zero leaves it to the service.
        open var resultsLimit = 0
        /// The fields to fetch; `nil` for all of them.
        open var desiredKeys: [CKRecord.FieldKey]?

        /// Creates a configuration that fetches all changes.
        public override init() {}

        /// Creates a configuration that fetches the changes after a token.
        public convenience init(
            previousServerChangeToken: CKServerChangeToken? = nil,
            resultsLimit: Int? = nil,
            desiredKeys: [CKRecord.FieldKey]? = nil
        ) {
            self.init()
            self.previousServerChangeToken = previousServerChangeToken
            self.resultsLimit = resultsLimit ?? 0
            self.desiredKeys = desiredKeys
        }

        /// Returns a copy.
        open func copy(with zone: NSZone? = nil) -> Any {
            ZoneConfiguration(
                previousServerChangeToken: previousServerChangeToken,
                resultsLimit: resultsLimit,
                desiredKeys: desiredKeys
            )
        }
    }

    /// The older name.
    @available(*, deprecated, renamed: "ZoneConfiguration")
    public typealias ZoneOptions = ZoneConfiguration

    /// Creates an operation without work.
    public override init() {}

    /// Creates an operation that fetches the changes in zones.
    public convenience init(
        recordZoneIDs: [CKRecordZone.ID]? = nil,
        configurationsByRecordZoneID: [CKRecordZone.ID: ZoneConfiguration]? = nil
    ) {
        self.init()
        self.recordZoneIDs = recordZoneIDs
        self.configurationsByRecordZoneID = configurationsByRecordZoneID
    }

    /// Creates an operation that fetches the changes in zones.
    @available(*, deprecated, message: "Use init(recordZoneIDs:configurationsByRecordZoneID:)")
    public convenience init(
        recordZoneIDs: [CKRecordZone.ID],
        optionsByRecordZoneID: [CKRecordZone.ID: ZoneConfiguration]?
    ) {
        self.init(
            recordZoneIDs: recordZoneIDs,
            configurationsByRecordZoneID: optionsByRecordZoneID
        )
    }

    /// The zones.
    open var recordZoneIDs: [CKRecordZone.ID]?
    /// The configuration of each zone; a zone without one is fetched from the beginning.
    open var configurationsByRecordZoneID: [CKRecordZone.ID: ZoneConfiguration]?
    /// The older name.
    @available(*, deprecated, renamed: "configurationsByRecordZoneID")
    open var optionsByRecordZoneID: [CKRecordZone.ID: ZoneConfiguration]? {
        get { configurationsByRecordZoneID }
        set { configurationsByRecordZoneID = newValue }
    }
    /// True if the operation fetches page after page until there are no more.
    open var fetchAllChanges = true

    /// Called for each record that is new or has changed.
    open var recordWasChangedBlock: ((CKRecord.ID, Result<CKRecord, any Error>) -> Void)?
    /// Called for each record that is gone.
    open var recordWithIDWasDeletedBlock: ((CKRecord.ID, CKRecord.RecordType) -> Void)?
    /// Called after each page except the last of a zone.
    ///
    /// Once the data before the token is stored, the token may be stored.
    open var recordZoneChangeTokensUpdatedBlock:
        ((CKRecordZone.ID, CKServerChangeToken?, Data?) -> Void)?
    /// Called for each zone.
    open var recordZoneFetchResultBlock:
        (
            (
                CKRecordZone.ID,
                Result<
                    (
                        serverChangeToken: CKServerChangeToken, clientChangeTokenData: Data?,
                        moreComing: Bool
                    ), any Error
                >
            ) -> Void
        )?
    /// Called at the end, with the error of the whole request; errors of items are in their block.
    open var fetchRecordZoneChangesResultBlock: ((Result<Void, any Error>) -> Void)?
    /// Called for each record that is new or has changed.
    open var recordChangedBlock: ((CKRecord) -> Void)?
    /// Called for each zone.
    open var recordZoneFetchCompletionBlock:
        ((CKRecordZone.ID, CKServerChangeToken?, Data?, Bool, (any Error)?) -> Void)?
    /// Called at the end.
    open var fetchRecordZoneChangesCompletionBlock: (((any Error)?) -> Void)?

    override func perform(_ session: Session) async throws(CKError) {
        var errors: [AnyHashable: any Error] = [:]
        for id in recordZoneIDs ?? [] {
            let outcome: Result<ZoneEnd, any Error>
            do throws(CKError) {
                outcome = .success(try await fetch(id, session))
            } catch {
                // An error of the whole request would stop the next zone too. Any other is this
                // zone's own.
                guard !isCancelled, !error.isOfWholeRequest else { throw error }
                errors[id] = error
                outcome = .failure(error)
            }
            tell(.zoneEnd(id, outcome))
        }
        if let error = CKError.ofItems(errors) { throw error }
    }

    private func fetch(
        _ id: CKRecordZone.ID,
        _ session: Session
    ) async throws(CKError) -> ZoneEnd {
        let configuration = configurationsByRecordZoneID?[id] ?? ZoneConfiguration()
        let request = ZoneChangesRequest(
            zone: id.model,
            since: try configuration.previousServerChangeToken?.model,
            limit: configuration.resultsLimit > 0 ? configuration.resultsLimit : nil,
            desiredKeys: configuration.desiredKeys
        )
        return try await session.changes(request, all: fetchAllChanges) { step in
            self.tell(.step(id, step))
        }
    }

    /// The errors of records, for the block that gets no records with errors.
    private var failures: [AnyHashable: any Error] = [:]

    override func deliver(_ report: OperationReport) {
        switch report {
        case .step(_, .changed(let record, let outcome)):
            recordWasChangedBlock?(record, outcome)
            if let record = outcome.value { recordChangedBlock?(record) }
            failures[record] = outcome.error
        case .step(_, .deleted(let record, let type)):
            recordWithIDWasDeletedBlock?(record, type)
        case .step(let id, .page(let token, let mark)):
            recordZoneChangeTokensUpdatedBlock?(id, token, mark)
        case .zoneEnd(let id, let outcome):
            let end = outcome.value
            recordZoneFetchResultBlock?(
                id,
                outcome.map { ($0.token, $0.mark, $0.moreComing) }
            )
            recordZoneFetchCompletionBlock?(
                id,
                end?.token,
                end?.mark,
                end?.moreComing ?? false,
                outcome.error
            )
        default: break
        }
    }

    override func keep(in request: inout KeptRequest) {
        request.zoneIDs = (recordZoneIDs ?? []).map(\.archived)
        request.numbers = ["all": fetchAllChanges ? 1 : 0]
        // The members of a zone's configuration are named by the zone's place in `zoneIDs`.
        for (index, id) in (recordZoneIDs ?? []).enumerated() {
            guard let configuration = configurationsByRecordZoneID?[id] else { continue }
            request.keep(configuration.previousServerChangeToken, as: "token\(index)")
            request.numbers["limit\(index)"] = configuration.resultsLimit
            request.objects["keys\(index)"] = configuration.desiredKeys.flatMap {
                try? PropertyListEncoder().encode($0)
            }
        }
    }

    override func restore(from request: KeptRequest) {
        let ids = request.zoneIDs.map { CKRecordZone.ID($0) }
        recordZoneIDs = ids
        fetchAllChanges = request.numbers["all"] == 1
        configurationsByRecordZoneID = [:]
        for (index, id) in ids.enumerated() {
            configurationsByRecordZoneID?[id] = ZoneConfiguration(
                previousServerChangeToken: request.object(
                    "token\(index)",
                    of: CKServerChangeToken.self
                ),
                resultsLimit: request.numbers["limit\(index)"],
                desiredKeys: request.objects["keys\(index)"].flatMap {
                    try? PropertyListDecoder().decode([String].self, from: $0)
                }
            )
        }
    }

    override func complete(_ error: (any Error)?) {
        fetchRecordZoneChangesResultBlock?(Result(ofWhole: error))
        fetchRecordZoneChangesCompletionBlock?(error ?? CKError.ofItems(failures))
    }
}

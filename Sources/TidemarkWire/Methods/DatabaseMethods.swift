// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import TidemarkModel

/// The methods of `DatabaseService` that have one answer.
public enum DatabaseMethods {
    /// A method of a `DatabaseService`.
    public typealias Method<Request: Codable & Sendable, Answer: Codable & Sendable> =
        ServiceMethod<any DatabaseService, Request, Answer>

    /// A request for the metadata of a link.
    public struct ShareMetadataRequest: Codable, Hashable, Sendable {
        /// The link.
        public var link: String
        /// True if the root record is wanted too.
        public var withRootRecord: Bool
    }

    /// Bytes of records after which a fetch answers no more of them.
    private static let fetchByteLimit = 32 << 20

    static let modifyRecords = Method<ModifyRecordsRequest, ModifyRecordsResult>(
        "modifyRecords",
        writes: true,
        records: .modify
    ) { (service, request, caller) throws(SyncError) in
        try await service.modifyRecords(request, as: caller)
    }
    static let fetchRecords = Method<FetchRecordsRequest, [CodedOutcome<Record>]>(
        "fetchRecords",
        records: .fetch
    ) { (service, request, caller) throws(SyncError) in
        var request = request
        request.byteLimit = fetchByteLimit
        return try await service.fetchRecords(request, as: caller).map { CodedOutcome($0) }
    }
    static let zoneChanges = Method<ZoneChangesRequest, ZoneChanges>(
        "zoneChanges",
        scans: true,
        records: .changes
    ) {
        (service, request, caller) throws(SyncError) in
        try await service.zoneChanges(request, as: caller)
    }
    static let databaseChanges = Method<DatabaseChangesRequest, DatabaseChanges>(
        "databaseChanges",
        scans: true
    ) {
        (service, request, caller) throws(SyncError) in
        try await service.databaseChanges(request, as: caller)
    }
    static let modifyZones = Method<ModifyZonesRequest, ModifyZonesResult>(
        "modifyZones",
        writes: true
    ) { (service, request, caller) throws(SyncError) in
        try await service.modifyZones(request, as: caller)
    }
    static let zones = Method<Nothing, [Zone]>("zones") {
        (service, _, caller) throws(SyncError) in try await service.zones(as: caller)
    }
    static let query = Method<QueryRequest, QueryPageResult>("query", scans: true) {
        (service, request, caller) throws(SyncError) in
        try await service.query(request, as: caller)
    }
    static let heldAssets = Method<HeldAssetsRequest, [Bool]>("heldAssets") {
        (service, request, caller) throws(SyncError) in
        try await service.heldAssets(request, as: caller)
    }
    static let accountStatus = Method<Nothing, AccountStatus>("accountStatus") {
        (service, _, caller) throws(SyncError) in try await service.accountStatus(as: caller)
    }
    static let currentUser = Method<Nothing, UserID>("currentUser") {
        (service, _, caller) throws(SyncError) in try await service.currentUser(as: caller)
    }
    static let lookUpUsers = Method<[UserLookup], [UserIdentity?]>("lookUpUsers") {
        (service, lookups, caller) throws(SyncError) in
        try await service.lookUpUsers(lookups, as: caller)
    }
    static let contacts = Method<Nothing, [UserIdentity]>("contacts") {
        (service, _, caller) throws(SyncError) in try await service.contacts(as: caller)
    }
    static let acceptShare = Method<String, Record>("acceptShare", writes: true) {
        (service, link, caller) throws(SyncError) in
        try await service.acceptShare(link, as: caller)
    }
    static let shareMetadata = Method<ShareMetadataRequest, ShareMetadata>("shareMetadata") {
        (service, request, caller) throws(SyncError) in
        try await service.shareMetadata(
            of: request.link,
            withRootRecord: request.withRootRecord,
            as: caller
        )
    }
    static let requestShareAccess = Method<String, Nothing>("requestShareAccess", writes: true) {
        (service, link, caller) throws(SyncError) in
        try await service.requestShareAccess(link, as: caller)
        return Nothing()
    }
    static let modifySubscriptions = Method<ModifySubscriptionsRequest, ModifySubscriptionsResult>(
        "modifySubscriptions",
        writes: true
    ) { (service, request, caller) throws(SyncError) in
        try await service.modifySubscriptions(request, as: caller)
    }
    static let subscriptions = Method<Nothing, [Subscription]>("subscriptions") {
        (service, _, caller) throws(SyncError) in try await service.subscriptions(as: caller)
    }
    static let fetchSubscriptions = Method<[String], [CodedOutcome<Subscription>]>(
        "fetchSubscriptions"
    ) { (service, ids, caller) throws(SyncError) in
        try await service.fetchSubscriptions(ids, as: caller).map { CodedOutcome($0) }
    }
    static let notificationChanges = Method<NotificationChangesRequest, NotificationChanges>(
        "notificationChanges"
    ) { (service, request, caller) throws(SyncError) in
        try await service.notificationChanges(request, as: caller)
    }
    static let markNotificationsRead = Method<[String], [CodedOutcome<String>]>(
        "markNotificationsRead",
        writes: true
    ) { (service, ids, caller) throws(SyncError) in
        try await service.markNotificationsRead(ids, as: caller).map { CodedOutcome($0) }
    }
    static let notificationToken = Method<Nothing, ChangeToken>("notificationToken") {
        (service, _, caller) throws(SyncError) in
        try await service.notificationToken(as: caller)
    }

    /// All of them.
    public static let all: [any AnyServiceMethod<any DatabaseService>] = [
        modifyRecords, fetchRecords, zoneChanges, databaseChanges, modifyZones, zones, query,
        heldAssets, accountStatus, currentUser, lookUpUsers, contacts, acceptShare, shareMetadata,
        requestShareAccess, modifySubscriptions, subscriptions, fetchSubscriptions,
        notificationChanges, markNotificationsRead, notificationToken,
    ]

    /// Returns the method with a name; `nil` if there is none.
    public static func named(_ name: String) -> (any AnyServiceMethod<any DatabaseService>)? {
        byName[name]
    }

    // Traps at the first call if two methods have one name.
    private static let byName = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0) })
}

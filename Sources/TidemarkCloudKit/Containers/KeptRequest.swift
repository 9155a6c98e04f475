// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The data on disk from which a long-lived operation is run again in another process.
struct KeptRequest: Codable {
    /// The kind of operation.
    var kind: LongLivedKind
    /// The operation's id, by which the service recognizes changes that it has already made.
    var operationID: String
    /// The container it was added to.
    var container: String
    /// The scope of the database, for operations in a database.
    var scope: Int?
    /// The signed-in user; no other user can find the operation.
    var user: String?
    /// The time at which the request was stored.
    var kept: Date
    /// The service's response; `nil` if there is none yet.
    var answer: KeptAnswer.Archive?
    /// The urgency of the operation; `nil` in files of earlier versions.
    var qualityOfService: Int?
    /// Seconds for one request; `nil` in files of earlier versions.
    var requestTimeout: Double?
    /// Seconds for all requests; `nil` in files of earlier versions.
    var resourceTimeout: Double?
    /// Whole records, with their changes.
    var records: [Data] = []
    /// Names of records.
    var recordIDs: [CKRecordID.Archive] = []
    /// Names of zones.
    var zoneIDs: [CKRecordZoneID.Archive] = []
    /// Other values, by the names of properties.
    var numbers: [String: Int] = [:]
    /// Fields to fetch.
    var desiredKeys: [String]?
    /// Archived objects, by the names of properties.
    var objects: [String: Data] = [:]

    /// The time for which a request without a response is kept.
    private static let requestLifetime: TimeInterval = 7 * 24 * 60 * 60
    /// The time for which a response is kept that no program has fetched.
    private static let answerLifetime: TimeInterval = 24 * 60 * 60

    /// Returns true if the operation can no longer be found.
    func isExpired(at now: Date) -> Bool {
        // Apple's servers keep results for 24 hours, too. The limit for requests is the default of
        // `timeoutIntervalForResource`.
        if let answer { return now.timeIntervalSince(answer.time) > Self.answerLifetime }
        return now.timeIntervalSince(kept) > Self.requestLifetime
    }

    /// Stores an object as Foundation archives it.
    mutating func keep(_ object: (any NSObject & NSCoding)?, as name: String) {
        objects[name] = object?.archivedData
    }

    /// Returns a stored object.
    func object<Object: NSObject & NSCoding>(_ name: String, of type: Object.Type) -> Object? {
        objects[name].flatMap { try? NSKeyedUnarchiver.unarchivedObject(ofClass: type, from: $0) }
    }
}

/// The kinds of operations that can be long-lived, by their names on disk.
enum LongLivedKind: String, Codable {
    case modifyRecords
    case fetchRecords
    case query
    case modifyRecordZones
    case fetchRecordZones
    case fetchRecordZoneChanges
    case fetchDatabaseChanges

    /// Creates the kind of an operation; `nil` for those that cannot be long-lived.
    init?(_ operation: CKOperation) {
        switch operation {
        case is CKModifyRecordsOperation: self = .modifyRecords
        case is CKFetchRecordsOperation: self = .fetchRecords
        case is CKQueryOperation: self = .query
        case is CKModifyRecordZonesOperation: self = .modifyRecordZones
        case is CKFetchRecordZonesOperation: self = .fetchRecordZones
        case is CKFetchRecordZoneChangesOperation: self = .fetchRecordZoneChanges
        case is CKFetchDatabaseChangesOperation: self = .fetchDatabaseChanges
        default: return nil
        }
    }

    /// Creates an operation of this kind without work.
    ///
    /// It is of CloudKit's class, even if the program used a subclass.
    func makeOperation() -> CKDatabaseOperation {
        switch self {
        case .modifyRecords: CKModifyRecordsOperation()
        case .fetchRecords: CKFetchRecordsOperation()
        case .query: CKQueryOperation()
        case .modifyRecordZones: CKModifyRecordZonesOperation()
        case .fetchRecordZones: CKFetchRecordZonesOperation()
        case .fetchRecordZoneChanges: CKFetchRecordZoneChangesOperation()
        case .fetchDatabaseChanges: CKFetchDatabaseChangesOperation()
        }
    }
}

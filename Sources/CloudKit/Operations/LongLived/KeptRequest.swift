// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// What a long-lived operation needs to be run again in another process, as it lies on disk.
struct KeptRequest: Codable {
    /// Which kind of operation it is.
    var kind: LongLivedKind
    /// The operation's id, under which the service knows what it has done already.
    var operationID: String
    /// The container it was added to.
    var container: String
    /// Which of the container's databases, for operations in a database.
    var scope: Int?
    /// Who was signed in: nobody else gets to see it.
    var user: String?
    /// When it was kept.
    var kept: Date
    /// When the service had answered; `nil` as long as it has not.
    var answered: Date?
    /// Records, whole with what was changed in them.
    var records: [Data] = []
    /// Names of records.
    var recordIDs: [CKRecordID.Archive] = []
    /// Names of zones.
    var zoneIDs: [CKRecordZoneID.Archive] = []
    /// What else there is, by the names of properties.
    var numbers: [String: Int] = [:]
    /// Fields to fetch.
    var desiredKeys: [String]?
    /// Archived objects, by the names of properties.
    var objects: [String: Data] = [:]

    /// How long a request is kept that the service has not answered.
    private static let requestLifetime: TimeInterval = 7 * 24 * 60 * 60
    /// How long it is kept when it was answered, and nobody has asked.
    private static let resultLifetime: TimeInterval = 24 * 60 * 60

    /// Whether it is found no more.
    func isExpired(at now: Date) -> Bool {
        if let answered { return now.timeIntervalSince(answered) > Self.resultLifetime }
        return now.timeIntervalSince(kept) > Self.requestLifetime
    }

    /// Keeps an object as Foundation archives it.
    mutating func keep(_ object: NSObject?, as name: String) {
        objects[name] = object.flatMap {
            try? NSKeyedArchiver.archivedData(withRootObject: $0, requiringSecureCoding: true)
        }
    }

    /// An object that was kept.
    func object<Object: NSObject & NSCoding>(_ name: String, of type: Object.Type) -> Object? {
        objects[name].flatMap { try? NSKeyedUnarchiver.unarchivedObject(ofClass: type, from: $0) }
    }
}

/// The kinds of operations that can be long-lived, by their names on disk.
enum LongLivedKind: String, Codable, CaseIterable {
    case modifyRecords
    case fetchRecords
    case query
    case modifyRecordZones
    case fetchRecordZones
    case fetchRecordZoneChanges
    case fetchDatabaseChanges

    private var operationType: CKDatabaseOperation.Type {
        switch self {
        case .modifyRecords: CKModifyRecordsOperation.self
        case .fetchRecords: CKFetchRecordsOperation.self
        case .query: CKQueryOperation.self
        case .modifyRecordZones: CKModifyRecordZonesOperation.self
        case .fetchRecordZones: CKFetchRecordZonesOperation.self
        case .fetchRecordZoneChanges: CKFetchRecordZoneChangesOperation.self
        case .fetchDatabaseChanges: CKFetchDatabaseChangesOperation.self
        }
    }

    /// The kind of an operation; `nil` for those that cannot be long-lived.
    init?(_ operation: CKOperation) {
        guard let kind = Self.allCases.first(where: { type(of: operation) == $0.operationType })
        else {
            return nil
        }
        self = kind
    }

    /// An operation of this kind with nothing to do yet.
    func makeOperation() -> CKDatabaseOperation { operationType.init() }
}

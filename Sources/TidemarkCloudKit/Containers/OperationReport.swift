// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TidemarkModel

/// A report of an operation to its blocks, in a form that can be stored.
///
/// It is the result of an item, or the progress of a fetch.
enum OperationReport: Sendable {
    /// The result of saving a record, the one at an index.
    case saved(Int, CKRecord.ID, Result<CKRecord, any Error>)
    /// The result of deleting a record.
    case deleted(CKRecord.ID, (any Error)?)
    /// A record that was fetched or found, or why it was not.
    case fetched(CKRecord.ID, Result<CKRecord, any Error>)
    /// The start of a query's next page.
    case cursor(CKQueryCursor)
    /// A zone that was fetched or saved, or why it was not.
    case zone(CKRecordZone.ID, Result<CKRecordZone, any Error>)
    /// The result of deleting a zone.
    case deletedZone(CKRecordZone.ID, (any Error)?)
    /// A report from the fetch of a zone.
    case step(CKRecordZone.ID, ZoneStep)
    /// The end of the fetch of a zone, or its error.
    case zoneEnd(CKRecordZone.ID, Result<ZoneEnd, any Error>)
    /// A change to a zone of a database.
    case zoneChange(ZoneChange)
    /// The end of the fetch of a database.
    case databaseEnd(CKServerChangeToken, moreComing: Bool)
}

// MARK: Archives

extension OperationReport {
    /// A report as it is stored on disk (`Docs/formats/devices.md`): its kind and its content.
    struct Archive: Codable {
        enum Kind: String, Codable {
            case saved, deleted, fetched, cursor, zone, deletedZone
            case recordChanged, recordDeleted, page, zoneEnd
            case zoneChanged, zoneDeleted, databaseEnd
        }

        var kind: Kind
        var index: Int?
        var record: CKRecordID.Archive?
        var zone: CKRecordZoneID.Archive?
        /// A record, zone, token or cursor, as Foundation archives it.
        var object: Data?
        var recordType: String?
        var mark: Data?
        var moreComing: Bool?
        var reason: UInt8?
        var error: CKError.Archive?
    }

    var archived: Archive {
        switch self {
        case .saved(let index, let id, let result):
            Self.archive(.saved, id, result, index: index)
        case .deleted(let id, let error):
            Archive(kind: .deleted, record: id.archived, error: error.archived)
        case .fetched(let id, let result):
            Self.archive(.fetched, id, result)
        case .cursor(let cursor):
            Archive(kind: .cursor, object: cursor.archivedData)
        case .zone(let id, let result):
            Archive(
                kind: .zone,
                zone: id.archived,
                object: result.value?.archivedData,
                error: result.error.archived
            )
        case .deletedZone(let id, let error):
            Archive(kind: .deletedZone, zone: id.archived, error: error.archived)
        case .step(let zone, .changed(let id, let result)):
            Self.archive(.recordChanged, id, result, in: zone)
        case .step(let zone, .deleted(let id, let type)):
            Archive(
                kind: .recordDeleted,
                record: id.archived,
                zone: zone.archived,
                recordType: type
            )
        case .step(let zone, .page(let token, let mark)):
            Archive(kind: .page, zone: zone.archived, object: token.archivedData, mark: mark)
        case .zoneEnd(let id, let result):
            Archive(
                kind: .zoneEnd,
                zone: id.archived,
                object: result.value?.token.archivedData,
                mark: result.value?.mark,
                moreComing: result.value?.moreComing,
                error: result.error.archived
            )
        case .zoneChange(.changed(let zone)):
            Archive(kind: .zoneChanged, zone: CKRecordZoneID(zone).archived)
        case .zoneChange(.deleted(let zone, let reason)):
            Archive(
                kind: .zoneDeleted,
                zone: CKRecordZoneID(zone).archived,
                reason: reason.rawValue
            )
        case .databaseEnd(let token, let moreComing):
            Archive(kind: .databaseEnd, object: token.archivedData, moreComing: moreComing)
        }
    }

    private static func archive(
        _ kind: Archive.Kind,
        _ id: CKRecord.ID,
        _ result: Result<CKRecord, any Error>,
        index: Int? = nil,
        in zone: CKRecordZone.ID? = nil
    ) -> Archive {
        Archive(
            kind: kind,
            index: index,
            record: id.archived,
            zone: zone?.archived,
            object: result.value?.archivedData,
            error: result.error.archived
        )
    }

    /// Reads a report; `nil` for one that lacks something.
    init?(_ archive: Archive) {
        let record = archive.record.map { CKRecord.ID($0) }
        let zone = archive.zone.map { CKRecordZone.ID($0) }
        let error = archive.error.map { CKError($0) }
        switch (archive.kind, record, zone) {
        case (.saved, let id?, _):
            guard let result = archive.savedRecord, let index = archive.index else { return nil }
            self = .saved(index, id, result)
        case (.deleted, let id?, _):
            self = .deleted(id, error)
        case (.fetched, let id?, _):
            guard let result = archive.savedRecord else { return nil }
            self = .fetched(id, result)
        case (.cursor, _, _):
            guard let cursor: CKQueryCursor = archive.unarchived() else { return nil }
            self = .cursor(cursor)
        case (.zone, _, let id?):
            guard let result: Result<CKRecordZone, any Error> = archive.result() else { return nil }
            self = .zone(id, result)
        case (.deletedZone, _, let id?):
            self = .deletedZone(id, error)
        case (.recordChanged, let id?, let place?):
            guard let result = archive.savedRecord else { return nil }
            self = .step(place, .changed(id, result))
        case (.recordDeleted, let id?, let place?):
            self = .step(place, .deleted(id, archive.recordType ?? ""))
        case (.page, _, let place?):
            guard let token: CKServerChangeToken = archive.unarchived() else { return nil }
            self = .step(place, .page(token, mark: archive.mark))
        case (.zoneEnd, _, let place?):
            guard let token: Result<CKServerChangeToken, any Error> = archive.result() else {
                return nil
            }
            let moreComing = archive.moreComing ?? false
            self = .zoneEnd(
                place,
                token.map { ZoneEnd(token: $0, mark: archive.mark, moreComing: moreComing) }
            )
        case (.zoneChanged, _, let place?):
            self = .zoneChange(.changed(place.model))
        case (.zoneDeleted, _, let place?):
            // With the unknown reason of a later version, the zone is still gone.
            let reason = archive.reason.flatMap { ZoneDeletionReason(rawValue: $0) }
            self = .zoneChange(.deleted(place.model, reason ?? .deleted))
        case (.databaseEnd, _, _):
            guard let token: CKServerChangeToken = archive.unarchived() else { return nil }
            self = .databaseEnd(token, moreComing: archive.moreComing ?? false)
        // A report without its members makes the whole answer unreadable (`KeptAnswer`), and the
        // request is sent again. To skip the report would hide the result of an item.
        default:
            return nil
        }
    }

    /// The record of the report.
    var record: CKRecord? {
        switch self {
        case .saved(_, _, let result), .fetched(_, let result), .step(_, .changed(_, let result)):
            result.value
        default: nil
        }
    }
}

extension OperationReport.Archive {
    fileprivate var savedRecord: Result<CKRecord, any Error>? {
        error.map { .failure(CKError($0)) }
            ?? object.flatMap { CKRecord.unarchived($0) }.map { .success($0) }
    }

    fileprivate func unarchived<Object: NSObject & NSCoding>() -> Object? {
        object.flatMap { try? NSKeyedUnarchiver.unarchivedObject(ofClass: Object.self, from: $0) }
    }

    fileprivate func result<Object: NSObject & NSCoding>() -> Result<Object, any Error>? {
        if let error { return .failure(CKError(error)) }
        let object: Object? = unarchived()
        return object.map { .success($0) }
    }
}

extension NSCoding where Self: NSObject {
    /// The object as Foundation archives it; `nil` if that fails.
    var archivedData: Data? {
        try? NSKeyedArchiver.archivedData(withRootObject: self, requiringSecureCoding: true)
    }
}

extension CKRecord {
    /// Returns a record, or a share, from its archive.
    static func unarchived(_ data: Data) -> CKRecord? {
        let classes: [AnyClass] = [CKRecord.self, CKShare.self]
        return
            (try? NSKeyedUnarchiver.unarchivedObject(ofClasses: classes, from: data)) as? CKRecord
    }
}

extension Optional where Wrapped == any Error {
    fileprivate var archived: CKError.Archive? { map { CKError(asking: $0).archived } }
}

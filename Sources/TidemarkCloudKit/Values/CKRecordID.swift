// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import Foundation
import TidemarkModel

/// The identity of a record: its name and its zone.
///
/// Programs write `CKRecord.ID`. It is not a nested class, because Foundation on Linux cannot
/// unarchive those.
///
/// Unchecked: immutable.
open class CKRecordID: NSObject, NSCopying, NSSecureCoding, @unchecked Sendable {
    /// The record's name, unique in its zone.
    public let recordName: String
    /// The record's zone.
    public let zoneID: CKRecordZoneID

    /// Names a record; without a name, a new one.
    public init(
        recordName: String = UUID().uuidString,
        zoneID: CKRecordZoneID = CKRecordZoneID.default
    ) {
        self.recordName = recordName
        self.zoneID = zoneID
    }

    /// Names a record of the default zone.
    public convenience init(recordName: String) {
        self.init(recordName: recordName, zoneID: CKRecordZoneID.default)
    }

    // MARK: Equality

    /// Returns true if the other object names the same record of the same zone.
    open override func isEqual(_ object: Any?) -> Bool {
        (object as? CKRecordID)?.model == model
    }

    /// Follows from the names of the record and its zone.
    open override var hash: Int { model.hashValue }

    /// The names of the record and its zone.
    open override var description: String {
        "<CKRecordID: \(recordName); zoneID=\(zoneID.zoneName):\(zoneID.ownerName)>"
    }

    // MARK: Copying and coding

    /// Returns the same object, which is immutable.
    open func copy(with zone: NSZone? = nil) -> Any { self }

    /// True.
    public static var supportsSecureCoding: Bool { true }

    /// The names of the record and its zone, as they are archived.
    struct Archive: Codable, Hashable {
        var name: String
        var zone: CKRecordZoneID.Archive
    }

    var archived: Archive { Archive(name: recordName, zone: zoneID.archived) }

    init(_ archive: Archive) {
        recordName = archive.name
        zoneID = CKRecordZoneID(archive.zone)
    }

    /// Writes the names of the record and its zone.
    open func encode(with coder: NSCoder) {
        coder.encode(archive: archived)
    }

    /// Reads the names of the record and its zone, also from an archive of Apple's framework.
    public required init?(coder: NSCoder) {
        guard let archive = coder.archive(of: Archive.self) ?? Archive(KeyedObject(coder)) else {
            return nil
        }
        recordName = archive.name
        zoneID = CKRecordZoneID(archive.zone)
    }
}

// MARK: The service

extension CKRecordID {
    convenience init(_ model: RecordID) {
        self.init(recordName: model.recordName, zoneID: CKRecordZoneID(model.zone))
    }

    var model: RecordID { RecordID(recordName: recordName, zone: zoneID.model) }

    /// Creates the id of a user's record, as records name their creators.
    ///
    /// The current user is `CKCurrentUserDefaultName`.
    convenience init(_ user: UserID, seenBy reader: UserID? = nil) {
        self.init(recordName: user == reader ? CKCurrentUserDefaultName : user.userRecordName)
    }
}

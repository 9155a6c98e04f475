// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import Foundation
import TidemarkModel

// swift-format-ignore: AlwaysUseLowerCamelCase
/// The owner's name that stands for the current user.
public let CKCurrentUserDefaultName = "__defaultOwner__"

/// The identity of a zone: its name and its owner.
///
/// Programs write `CKRecordZone.ID`. It is not a nested class, because Foundation on Linux cannot
/// unarchive those.
///
/// Unchecked: immutable.
open class CKRecordZoneID: NSObject, NSCopying, NSSecureCoding, @unchecked Sendable {
    /// The zone's name.
    public let zoneName: String
    /// The user record name of the zone's owner, or `CKCurrentUserDefaultName`.
    public let ownerName: String

    /// Names a zone; without an owner, one of the current user.
    public init(
        zoneName: String = CKRecordZoneID.defaultZoneName,
        ownerName: String = CKCurrentUserDefaultName
    ) {
        self.zoneName = zoneName
        self.ownerName = ownerName
    }

    /// The name of the zone that every public and private database has.
    public static let defaultZoneName = "_defaultZone"

    /// The zone that every public and private database has.
    public static let `default` = CKRecordZoneID()

    // MARK: Equality

    /// Returns true if the other object names the same zone of the same owner.
    open override func isEqual(_ object: Any?) -> Bool {
        (object as? CKRecordZoneID)?.model == model
    }

    /// Follows from both names.
    open override var hash: Int { model.hashValue }

    /// The zone's name and its owner's.
    open override var description: String { "<CKRecordZoneID: \(zoneName):\(ownerName)>" }

    // MARK: Copying and coding

    /// Returns the same object, which is immutable.
    open func copy(with zone: NSZone? = nil) -> Any { self }

    /// True.
    public static var supportsSecureCoding: Bool { true }

    /// The zone's name and owner, as they are archived.
    struct Archive: Codable, Hashable {
        var name: String
        var owner: String
    }

    var archived: Archive { Archive(name: zoneName, owner: ownerName) }

    init(_ archive: Archive) {
        zoneName = archive.name
        ownerName = archive.owner
    }

    /// Writes both names.
    open func encode(with coder: NSCoder) {
        coder.encode(archive: archived)
    }

    /// Reads both names, also from an archive of Apple's framework.
    public required init?(coder: NSCoder) {
        guard let archive = coder.archive(of: Archive.self) ?? Archive(KeyedObject(coder)) else {
            return nil
        }
        zoneName = archive.name
        ownerName = archive.owner
    }
}

// MARK: The service

extension CKRecordZoneID {
    convenience init(_ model: ZoneID) {
        self.init(zoneName: model.zoneName, ownerName: model.ownerName)
    }

    var model: ZoneID { ZoneID(zoneName: zoneName, ownerName: ownerName) }
}

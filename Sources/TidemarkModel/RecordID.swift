// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// A zone's identity inside a database.
public struct ZoneID: Hashable, Sendable {
    @usableFromInline package let name: Name
    @usableFromInline package let owner: Name

    /// Creates the id of a zone.
    ///
    /// Without an owner it is a zone of the caller's user.
    public init(zoneName: String = ZoneID.defaultZoneName, ownerName: String = ZoneID.currentOwner)
    {
        name = Name(zoneName)
        owner = Name(ownerName)
    }

    /// The zone's name, unique for its owner.
    public var zoneName: String { name.string }

    /// The user record name of the zone's owner; `__defaultOwner__` for the caller's user.
    public var ownerName: String { owner.string }

    /// The name of the zone that every public and private database has.
    public static let defaultZoneName = "_defaultZone"

    /// The owner's name that stands for the caller's user.
    public static let currentOwner = "__defaultOwner__"

    /// The zone that every public and private database has.
    public static let `default` = ZoneID()

    /// True for the default zone, which every public and private database has.
    public var isDefault: Bool { self == .default }

    /// Returns true only if both are equal, and always if one is a copy of the other.
    ///
    /// Unlike `==`, this calls no function of another module, so that a zone in an array is compared
    /// in place.
    @inlinable @inline(__always)
    package func hasSameStorage(as other: ZoneID) -> Bool {
        name.hasSameStorage(as: other.name) && owner.hasSameStorage(as: other.owner)
    }
}

extension ZoneID: Comparable, CustomStringConvertible {
    /// Returns true if the first sorts before the second: by name, then by owner, both as bytes.
    public static func < (lhs: ZoneID, rhs: ZoneID) -> Bool {
        // Names first, because lists of zones are in the order of their names.
        lhs.name == rhs.name ? lhs.owner < rhs.owner : lhs.name < rhs.name
    }

    /// The zone's name, and its owner's name if that is not the current user.
    public var description: String {
        ownerName == Self.currentOwner ? zoneName : "\(zoneName) of \(ownerName)"
    }
}

/// A record's identity inside a database: its name and its zone.
///
/// The record type is not part of it.
public struct RecordID: Hashable, Sendable {
    package let name: Name
    /// The zone it is in, and never leaves.
    public let zone: ZoneID

    /// Names a record.
    public init(recordName: String, zone: ZoneID = .default) {
        name = Name(recordName)
        self.zone = zone
    }

    /// The record's name, unique in its zone.
    public var recordName: String { name.string }
}

extension RecordID: Comparable, CustomStringConvertible {
    /// Returns true if the first sorts before the second: by zone, then by name, both as bytes.
    public static func < (lhs: RecordID, rhs: RecordID) -> Bool {
        lhs.zone == rhs.zone ? lhs.name < rhs.name : lhs.zone < rhs.zone
    }

    /// The record's name, and its zone if that is not the default zone.
    public var description: String {
        zone.isDefault ? recordName : "\(recordName) in zone \(zone)"
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import TidemarkModel

/// A value that identifies a record of a zone: a name, a ``RecordName``, a ``RecordID``, a record,
/// or a typed one.
public protocol RecordNamed {
    /// Returns the record's identity; a name alone is in the given zone.
    func recordID(in zone: ZoneID) -> RecordID

    /// The version that was read; `nil` for a name, which stands for any version.
    var readVersion: RecordChangeTag? { get }
}

extension RecordNamed {
    /// None.
    public var readVersion: RecordChangeTag? { nil }
}

extension String: RecordNamed {
    /// Returns the record of this name.
    public func recordID(in zone: ZoneID) -> RecordID { RecordID(recordName: self, zone: zone) }
}

extension RecordName: RecordNamed {
    /// Returns the record of this name.
    public func recordID(in zone: ZoneID) -> RecordID { RecordID(recordName: text, zone: zone) }
}

extension RecordID: RecordNamed {
    /// Itself.
    public func recordID(in zone: ZoneID) -> RecordID { self }
}

extension Record: RecordNamed {
    /// Returns the record's identity.
    public func recordID(in zone: ZoneID) -> RecordID { recordID }

    /// The record's version.
    public var readVersion: RecordChangeTag? { changeTag }
}

extension ParentChange {
    /// Sets this record, which must be in the same zone, as the parent.
    public static func set(_ record: some RecordNamed) -> ParentChange {
        // Only the name is kept, so the zone does not matter: a parent is always in the zone of its
        // record.
        .set(Name(record.recordID(in: .default).recordName))
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import TidemarkModel

/// A typed value together with the version of the record that it was read from.
///
/// It reads and writes like the value:
///
/// ```swift
/// var chore = try await garden.fetch(Chore.self, "water")
/// chore.state = .done
/// chore = try await garden.save(chore)
/// ```
///
/// Saving it sends the fields that were changed since it was read and no others, on condition that
/// the record is still that version. Fields that the type does not have stay as they are.
@dynamicMemberLookup
public struct Stored<Value: RecordCodable>: Sendable {
    /// The record as the store has it, with its system fields.
    public let record: Record
    /// The value, to be read and changed.
    public var value: Value

    /// Decodes a record.
    ///
    /// Throws `invalidArguments` with the field that does not fit. O(fields).
    public init(_ record: Record) throws(SyncError) {
        self.record = record
        value = try Value(record)
    }

    init(_ record: Record, _ value: Value) {
        self.record = record
        self.value = value
    }

    /// A property of the value.
    public subscript<Property>(dynamicMember path: KeyPath<Value, Property>) -> Property {
        value[keyPath: path]
    }

    /// A property of the value.
    public subscript<Property>(dynamicMember path: WritableKeyPath<Value, Property>) -> Property {
        get { value[keyPath: path] }
        set { value[keyPath: path] = newValue }
    }

    /// The change tag of this version of the record.
    public var changeTag: RecordChangeTag? { record.changeTag }

    /// Returns the fields that were changed since the record was read.
    ///
    /// O(fields).
    public func changedFields() throws(SyncError) -> Fields {
        // The base is the record after decoding and encoding, because a type may not keep all of a
        // field: a `Float` of a double, an empty list of an absent one.
        try value.fields().changes(from: Value(record).fields())
    }
}

extension Stored: RecordNamed, Identifiable {
    /// The record's name, as the value has it: unique in the zone.
    public var id: RecordName { value.id }

    /// Returns the record's identity.
    public func recordID(in zone: ZoneID) -> RecordID { record.recordID }

    /// The version that was read.
    public var readVersion: RecordChangeTag? { changeTag }
}

extension Stored: Equatable where Value: Equatable {}
extension Stored: Hashable where Value: Hashable {}

extension Stored: Codable {
    private enum CodingKeys: String, CodingKey { case record, changed }

    /// Reads the record, and the value if it was changed since.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let record = try container.decode(Record.self, forKey: .record)
        let value = try container.decodeIfPresent(Value.self, forKey: .changed)
        self.init(record, try value ?? Value(record))
    }

    /// Writes the record, and the value if it was changed since.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(record, forKey: .record)
        // A value that equals its record is made from the record again.
        if try !changedFields().isEmpty { try container.encode(value, forKey: .changed) }
    }
}

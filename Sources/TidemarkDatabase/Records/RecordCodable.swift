// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import TidemarkModel

/// A Swift type whose values are stored as records.
///
/// ```swift
/// struct Chore: RecordCodable {
///     static let recordType = "Chore"
///     var id = RecordName.unique()
///     var title: String
///     var state = State.open
///     var due: Date?
///     var tags: [String] = []
///
///     enum State: String, Codable { case open, done }
/// }
/// ```
///
/// Each coding key is a field. Texts, numbers, `Bool` (1 or 0: CloudKit has no truth values),
/// `Date`, `Data`, `URL`, `UUID`, ``Location``, ``Reference``, ``AssetReference``, enumerations
/// with raw values, and arrays of these are values of fields; ``Encrypted`` marks one as encrypted.
/// An optional that is `nil` is an absent field, and an absent list is empty. Any other type, such
/// as a dictionary or a nested structure, is refused with the field's name.
public protocol RecordCodable: Codable, Sendable, RecordNamed {
    /// The record type, which is a name of the schema.
    static var recordType: String { get }

    /// The record's name, unique in its zone; not a field.
    var id: RecordName { get }
}

extension RecordCodable {
    /// Returns the record's identity in a zone.
    public func recordID(in zone: ZoneID) -> RecordID { id.recordID(in: zone) }
}

extension RecordCodable {
    /// Decodes a record; ignores fields that the type does not have.
    ///
    /// Throws `invalidArguments` with the field that does not fit. O(fields).
    public init(_ record: Record) throws(SyncError) {
        self = try RecordDecoder.decode(Self.self, record)
    }
}

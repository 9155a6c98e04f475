// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkModel

extension RecordCodable {
    /// Returns the value's properties as fields, without absent ones.
    ///
    /// Throws `invalidArguments` with the property that cannot be a field. O(bytes).
    package func fields() throws(SyncError) -> Fields {
        let encoder = RecordEncoder(Self.recordType, id)
        do {
            try encode(to: encoder)
            return try encoder.builder.finish()
        } catch let error as SyncError {
            throw error
        } catch {
            throw SyncError(
                .invalidArguments,
                "A value of the record type \(Self.recordType) cannot be encoded: \(error)"
            )
        }
    }
}

/// Encodes the properties of one value as fields, in one builder.
final class RecordEncoder: Encoder {
    var builder = FieldsBuilder()
    let recordType: String
    let name: RecordName

    init(_ recordType: String, _ name: RecordName) {
        self.recordType = recordType
        self.name = name
        builder.reserveCapacity(fields: 16, bytes: 512)
    }

    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        KeyedEncodingContainer(PropertiesEncoding<Key>(encoder: self))
    }

    // A type that is not a structure with properties gets an error when it writes. Otherwise its
    // records would be saved without fields.
    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        refusing.unkeyedContainer()
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { refusing }

    private var refusing: ValueEncoder {
        ValueEncoder(field: recordType, refusing: "is the record itself, without properties")
    }

    /// Sets a field to a value of any type that can be one.
    func set(_ field: String, _ value: some Encodable, isEncrypted: Bool) throws {
        // First, as in `ValueEncoder`: `Date` and `Data` encode themselves in other forms.
        if let value = value as? any FieldConvertible {
            try builder.set(field, value.fieldValue, isEncrypted: isEncrypted)
        } else if let property = value as? any EncryptedProperty {
            try set(field, property.content, isEncrypted: true)
        } else if let name = value as? RecordName {
            // The record's own name is not written as a field.
            guard name == self.name else {
                throw SyncError(
                    .invalidArguments,
                    "The property \"\(field)\" of \(recordType) is a second RecordName; a record "
                        + "has one.",
                    remedy: "Refer to other records by a Reference."
                )
            }
        } else {
            let encoder = ValueEncoder(field: field)
            try value.encode(to: encoder)
            if let value = try encoder.value() {
                try builder.set(field, value, isEncrypted: isEncrypted)
            }
        }
    }
}

/// The properties of a value, each a field.
private struct PropertiesEncoding<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let encoder: RecordEncoder

    var codingPath: [any CodingKey] { [] }

    private func set(_ value: FieldValue, _ key: Key) throws {
        try encoder.builder.set(key.stringValue, value)
    }

    private func setWhole(_ number: some BinaryInteger, _ key: Key) throws {
        try set(.int64(ValueEncoder.whole(number, of: key.stringValue)), key)
    }

    // An absent value: fields are removed by comparison with the record, not here.
    func encodeNil(forKey key: Key) {}

    func encode(_ value: Bool, forKey key: Key) throws { try set(value.fieldValue, key) }
    func encode(_ value: String, forKey key: Key) throws { try set(.string(value), key) }
    func encode(_ value: Double, forKey key: Key) throws { try set(.double(value), key) }
    func encode(_ value: Float, forKey key: Key) throws { try set(.double(Double(value)), key) }
    func encode(_ value: Int, forKey key: Key) throws { try set(.int64(Int64(value)), key) }
    func encode(_ value: Int8, forKey key: Key) throws { try setWhole(value, key) }
    func encode(_ value: Int16, forKey key: Key) throws { try setWhole(value, key) }
    func encode(_ value: Int32, forKey key: Key) throws { try setWhole(value, key) }
    func encode(_ value: Int64, forKey key: Key) throws { try set(.int64(value), key) }
    func encode(_ value: UInt, forKey key: Key) throws { try setWhole(value, key) }
    func encode(_ value: UInt8, forKey key: Key) throws { try setWhole(value, key) }
    func encode(_ value: UInt16, forKey key: Key) throws { try setWhole(value, key) }
    func encode(_ value: UInt32, forKey key: Key) throws { try setWhole(value, key) }
    func encode(_ value: UInt64, forKey key: Key) throws { try setWhole(value, key) }

    func encode(_ value: some Encodable, forKey key: Key) throws {
        try encoder.set(key.stringValue, value, isEncrypted: false)
    }

    func encodeIfPresent(_ value: (some Encodable)?, forKey key: Key) throws {
        if let value { try encode(value, forKey: key) }
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy keyType: NestedKey.Type,
        forKey key: Key
    ) -> KeyedEncodingContainer<NestedKey> {
        ValueEncoder(field: key.stringValue).container(keyedBy: keyType)
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        ValueEncoder(field: key.stringValue, refusing: "is written element by element")
            .unkeyedContainer()
    }

    func superEncoder() -> any Encoder { encoder }
    func superEncoder(forKey key: Key) -> any Encoder { encoder }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkModel

/// A decoder of a value's properties from the fields of a record, in place.
final class RecordDecoder: Decoder {
    let fields: Fields
    private let record: Record
    private let type: any RecordCodable.Type

    private init(_ type: any RecordCodable.Type, _ record: Record) {
        self.type = type
        self.record = record
        fields = record.fields
    }

    /// Decodes a value from a record.
    static func decode<Value: RecordCodable>(
        _ type: Value.Type,
        _ record: Record
    ) throws(SyncError) -> Value {
        guard record.recordType == Value.recordType else {
            throw SyncError(
                .invalidArguments,
                "The record \(record.recordID) has the type \(record.recordType), but "
                    + "\(Value.self) reads records of the type \(Value.recordType)."
            )
        }
        let decoder = RecordDecoder(type, record)
        do {
            return try Value(from: decoder)
        } catch let error as SyncError {
            throw error
        } catch DecodingError.dataCorrupted(let context) {
            // Types that decode themselves, such as enumerations with raw values, report an unknown
            // value in this way.
            throw decoder.refusal(
                of: context.codingPath.first?.stringValue,
                context.debugDescription
            )
        } catch {
            throw decoder.refusal(of: nil, "\(error)")
        }
    }

    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
        KeyedDecodingContainer(PropertiesDecoding<Key>(decoder: self))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        throw refusal(of: nil, "The type decodes a list, and a record is a set of fields.")
    }

    func singleValueContainer() throws -> any SingleValueDecodingContainer {
        throw refusal(of: nil, "The type decodes a single value, and a record is a set of fields.")
    }

    /// The record's name.
    var name: RecordName { RecordName(record.body.recordName) }

    /// Returns the error for a field, or for the whole record, that cannot be decoded.
    func refusal(of field: String?, _ problem: String, remedy: String? = nil) -> SyncError {
        let what = field.map { "the field \"\($0)\" of " } ?? ""
        return SyncError(
            .invalidArguments,
            "\(type) cannot read \(what)the record \(record.recordID): \(problem)",
            remedy: remedy ?? "Change the type to match what its records hold."
        )
    }

    /// Returns the error for a missing value that the type requires.
    func absence(of field: String) -> SyncError {
        refusal(
            of: field,
            "It has no value, and decoding does not use the property's default value.",
            remedy: "Make the property optional, or save a value."
        )
    }

    /// Returns the error for a value that the type cannot represent.
    func mismatch(of field: String, _ value: FieldValue, _ type: Any.Type) -> SyncError {
        refusal(of: field, "It is a \(value.type.webName), which cannot be read as \(type).")
    }

    /// Returns the value of a field; `nil` if it is absent.
    func value(_ field: String) -> FieldValue? { fields[field] }

    /// Reads a value of any type, which may be absent.
    func decode<Value: Decodable>(
        _ type: Value.Type,
        _ field: String,
        _ value: FieldValue?
    ) throws -> Value {
        func same<Known>(_ known: Known) -> Value {
            // Each caller has found `Known` by a cast of `Value` itself, which the compiler cannot
            // see.
            precondition(Known.self == Value.self, "a value was read as another type")
            return unsafeBitCast(known, to: Value.self)
        }
        func read<Known: FieldConvertible>(_ known: Known.Type) throws -> Value {
            guard let value else {
                // An empty list is not stored, because a field's type is that of its elements. So
                // an absent field reads as one.
                if let list = Known.self as? any List.Type { return try empty(list) }
                throw absence(of: field)
            }
            guard let known = Known(fieldValue: value) else {
                throw mismatch(of: field, value, Known.self)
            }
            return same(known)
        }
        func empty<Known: List>(_ list: Known.Type) throws -> Value { same(Known()) }
        func unwrap<Known: EncryptedProperty>(_ property: Known.Type) throws -> Value {
            same(try Known.decoded { type in try self.decode(type, field, value) })
        }
        // First, because the name is no field of the record.
        if type == RecordName.self { return same(name) }
        if let known = type as? any FieldConvertible.Type { return try read(known) }
        // An optional in the wrapper decodes itself, so an absent field is `nil` and no error.
        if let property = type as? any EncryptedProperty.Type { return try unwrap(property) }
        return try Value(from: ValueDecoder(self, field, value))
    }
}

/// A list type, whose value is empty if the field is absent.
private protocol List {
    init()
}

extension Array: List {}

/// The fields of a record as the properties of a value.
private struct PropertiesDecoding<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let decoder: RecordDecoder

    var codingPath: [any CodingKey] { [] }
    var allKeys: [Key] { decoder.fields.present.compactMap { Key(stringValue: $0.name) } }

    func contains(_ key: Key) -> Bool { decoder.value(key.stringValue) != nil }
    func decodeNil(forKey key: Key) -> Bool { !contains(key) }

    @inline(__always)
    private func read<Value: FieldConvertible>(_ type: Value.Type, _ key: Key) throws -> Value {
        guard let value = try readIfPresent(type, key) else {
            throw decoder.absence(of: key.stringValue)
        }
        return value
    }

    @inline(__always)
    private func readIfPresent<Value: FieldConvertible>(
        _ type: Value.Type,
        _ key: Key
    ) throws -> Value? {
        guard let value = decoder.value(key.stringValue) else { return nil }
        guard let converted = Value(fieldValue: value) else {
            throw decoder.mismatch(of: key.stringValue, value, type)
        }
        return converted
    }

    // For these types the compiler picks the method, which saves the casts of
    // `RecordDecoder.decode`.
    func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try read(type, key) }
    func decode(_ type: String.Type, forKey key: Key) throws -> String { try read(type, key) }
    func decode(_ type: Double.Type, forKey key: Key) throws -> Double { try read(type, key) }
    func decode(_ type: Float.Type, forKey key: Key) throws -> Float { try read(type, key) }
    func decode(_ type: Int.Type, forKey key: Key) throws -> Int { try read(type, key) }
    func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 { try read(type, key) }
    func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 { try read(type, key) }
    func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 { try read(type, key) }
    func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 { try read(type, key) }
    func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 { try read(type, key) }
    func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 { try read(type, key) }
    func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 { try read(type, key) }

    func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt {
        // A field holds no number above `Int64.max`, so `UInt` itself is no field value.
        try decode(WholeNumber<UInt>.self, forKey: key).number
    }

    func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 {
        try decode(WholeNumber<UInt64>.self, forKey: key).number
    }

    func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? {
        try readIfPresent(type, key)
    }

    func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? {
        try readIfPresent(type, key)
    }

    func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? {
        try readIfPresent(type, key)
    }

    func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? {
        try readIfPresent(type, key)
    }

    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
        try decoder.decode(type, key.stringValue, decoder.value(key.stringValue))
    }

    func decodeIfPresent<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value? {
        // An absent list is `nil` here. Only a property that is not optional reads as an empty
        // list.
        guard let value = decoder.value(key.stringValue) else { return nil }
        return try decoder.decode(type, key.stringValue, value)
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type,
        forKey key: Key
    ) throws -> KeyedDecodingContainer<NestedKey> {
        throw decoder.refusal(of: key.stringValue, "A field has no members.")
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try ValueDecoder(decoder, key.stringValue, decoder.value(key.stringValue))
            .unkeyedContainer()
    }

    // A class and its superclass share the fields of one record.
    func superDecoder() throws -> any Decoder { decoder }
    func superDecoder(forKey key: Key) throws -> any Decoder { decoder }
}

/// An integer of a type without a field type of its own.
private struct WholeNumber<Number: FixedWidthInteger>: FieldConvertible, Decodable {
    var number: Number

    var fieldValue: FieldValue { .int64(Int64(truncatingIfNeeded: number)) }

    init?(fieldValue: FieldValue) {
        guard case .int64(let whole) = fieldValue, let number = Number(exactly: whole) else {
            return nil
        }
        self.number = number
    }

    init(from decoder: any Decoder) throws {
        preconditionFailure("a whole number is read from a field's value")
    }
}

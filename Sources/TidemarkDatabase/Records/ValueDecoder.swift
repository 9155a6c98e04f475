// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkModel

/// A decoder for one field, which may be absent, for types that decode themselves.
struct ValueDecoder: Decoder, SingleValueDecodingContainer {
    private let record: RecordDecoder
    private let field: String
    private let value: FieldValue?

    init(_ record: RecordDecoder, _ field: String, _ value: FieldValue?) {
        self.record = record
        self.field = field
        self.value = value
    }

    var codingPath: [any CodingKey] { [FieldKey(stringValue: field)] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        throw record.refusal(of: field, "A field has no members.")
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        // An absent field reads as an empty list, as in `RecordDecoder.decode`.
        guard let value else { return ElementsDecoding(record, field, []) }
        guard value.type.element != nil else {
            throw record.refusal(of: field, "It is a \(value.type.webName), which is not a list.")
        }
        return ElementsDecoding(record, field, value.elements)
    }

    func singleValueContainer() -> any SingleValueDecodingContainer { self }

    func decodeNil() -> Bool { value == nil }

    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        try record.decode(type, field, value)
    }

    // These two types are no field values of their own, since a field holds no number above
    // `Int64.max`.
    func decode(_ type: UInt.Type) throws -> UInt { try whole(type) }
    func decode(_ type: UInt64.Type) throws -> UInt64 { try whole(type) }

    private func whole<Number: FixedWidthInteger>(_ type: Number.Type) throws -> Number {
        let whole = try decode(Int64.self)
        guard let number = Number(exactly: whole) else {
            throw record.mismatch(of: field, .int64(whole), type)
        }
        return number
    }
}

/// The elements of a field's list.
private struct ElementsDecoding: UnkeyedDecodingContainer {
    private let record: RecordDecoder
    private let field: String
    private let elements: [FieldValue]
    private(set) var currentIndex = 0

    init(_ record: RecordDecoder, _ field: String, _ elements: [FieldValue]) {
        self.record = record
        self.field = field
        self.elements = elements
    }

    var codingPath: [any CodingKey] { [FieldKey(stringValue: field)] }
    var count: Int? { elements.count }
    var isAtEnd: Bool { currentIndex == elements.count }

    private mutating func next() throws -> FieldValue {
        guard !isAtEnd else { throw record.refusal(of: field, "The list has no more elements.") }
        defer { currentIndex += 1 }
        return elements[currentIndex]
    }

    // `ElementsEncoding` refuses absent elements, so no list has one.
    func decodeNil() -> Bool { false }

    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        try record.decode(type, field, next())
    }

    mutating func nestedContainer<Key: CodingKey>(
        keyedBy type: Key.Type
    ) throws -> KeyedDecodingContainer<Key> {
        throw record.refusal(of: field, "An element of a list has no members.")
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        throw record.refusal(of: field, "An element of a list cannot be a list.")
    }

    mutating func superDecoder() throws -> any Decoder { ValueDecoder(record, field, try next()) }
}

/// A field's name, as a component of a coding path.
private struct FieldKey: CodingKey {
    var stringValue: String
    var intValue: Int? { nil }

    init(stringValue: String) {
        self.stringValue = stringValue
    }

    init?(intValue: Int) { nil }
}

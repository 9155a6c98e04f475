// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkModel

/// An encoder for one field, a value or a list, for types that encode themselves.
final class ValueEncoder: Encoder, SingleValueEncodingContainer {
    private let field: String
    /// The reason to refuse whatever is written; `nil` for a property that can be a field.
    private let defect: String?
    private var written = Written.nothing

    private enum Written {
        case nothing
        case absent
        case one(FieldValue)
        case list([FieldValue])
    }

    /// An encoder for a field; with a defect, one that throws it as an error of the field when
    /// something is written.
    ///
    /// A container cannot be refused when it is requested, because that call cannot throw.
    init(field: String, refusing defect: String? = nil) {
        self.field = field
        self.defect = defect
    }

    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    /// Returns the error for a property that cannot be a field.
    func refusal(_ what: String) -> SyncError {
        SyncError(
            .invalidArguments,
            "The property \"\(field)\" \(what), and a field is one value or a list of values of one type.",
            remedy:
                "Use such a value, a Reference to another record, or Data."
        )
    }

    /// Returns an integer as the value of a field.
    static func whole(_ number: some BinaryInteger, of field: String) throws(SyncError) -> Int64 {
        guard let whole = Int64(exactly: number) else {
            throw SyncError(
                .invalidArguments,
                "The property \"\(field)\" is \(number), and a field holds at most \(Int64.max)."
            )
        }
        return whole
    }

    /// Returns the written value; `nil` for an absent value.
    func value() throws(SyncError) -> FieldValue? {
        switch written {
        case .nothing: throw refusal("encodes nothing, as an enumeration without raw values does")
        case .absent: return nil
        case .one(let value): return value
        case .list(let elements):
            // An empty list has no element type, so it is absent; an absent list reads as empty.
            guard let type = elements.first?.type else { return nil }
            guard elements.allSatisfy({ $0.type == type }) else {
                throw refusal("is a list of values of several types")
            }
            return FieldValue(listOf: elements, ofType: type)
        }
    }

    private func write(_ value: Written) throws(SyncError) {
        if let defect { throw refusal(defect) }
        written = value
    }

    private func set(_ value: FieldValue) throws(SyncError) { try write(.one(value)) }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        KeyedEncodingContainer(RefusedMembers<Key>(encoder: self))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        written = .list([])
        return ElementsEncoding(encoder: self)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { self }

    func encodeNil() throws { try write(.absent) }
    func encode(_ value: Bool) throws { try set(value.fieldValue) }
    func encode(_ value: String) throws { try set(.string(value)) }
    func encode(_ value: Double) throws { try set(.double(value)) }
    func encode(_ value: Float) throws { try set(.double(Double(value))) }
    func encode(_ value: Int) throws { try set(.int64(Int64(value))) }
    func encode(_ value: Int8) throws { try set(.int64(Int64(value))) }
    func encode(_ value: Int16) throws { try set(.int64(Int64(value))) }
    func encode(_ value: Int32) throws { try set(.int64(Int64(value))) }
    func encode(_ value: Int64) throws { try set(.int64(value)) }
    func encode(_ value: UInt) throws { try set(.int64(try Self.whole(value, of: field))) }
    func encode(_ value: UInt8) throws { try set(.int64(Int64(value))) }
    func encode(_ value: UInt16) throws { try set(.int64(Int64(value))) }
    func encode(_ value: UInt32) throws { try set(.int64(Int64(value))) }
    func encode(_ value: UInt64) throws { try set(.int64(try Self.whole(value, of: field))) }

    func encode(_ value: some Encodable) throws {
        // First, because a type that can be a field must not encode itself: `Date` would become a
        // double, and `Data` a list of numbers.
        if let value = value as? any FieldConvertible {
            try set(value.fieldValue)
        } else {
            try value.encode(to: self)
        }
    }

    /// Returns an encoder of the same field that refuses whatever is written.
    func refusing(_ defect: String) -> ValueEncoder {
        ValueEncoder(field: field, refusing: defect)
    }

    /// The number of elements that were written.
    fileprivate var elementCount: Int {
        if case .list(let elements) = written { elements.count } else { 0 }
    }

    /// Writes one more element.
    fileprivate func append(_ element: some Encodable) throws {
        if let defect { throw refusal(defect) }
        let encoder = ValueEncoder(field: field)
        try encoder.encode(element)
        guard let value = try encoder.value(), value.type.element == nil else {
            throw refusal("is a list with an element that is absent, or a list itself")
        }
        guard case .list(var elements) = written else { return }
        // The list is taken out before it grows. With two references to it, each element would copy
        // it.
        written = .nothing
        elements.append(value)
        written = .list(elements)
    }
}

/// The elements of a list.
private struct ElementsEncoding: UnkeyedEncodingContainer {
    let encoder: ValueEncoder

    var codingPath: [any CodingKey] { [] }
    var count: Int { encoder.elementCount }

    func encodeNil() throws { throw encoder.refusal("is a list with an absent element") }

    func encode(_ value: some Encodable) throws { try encoder.append(value) }

    func nestedContainer<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        encoder.container(keyedBy: type)
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
        encoder.refusing("is a list with lists in it").unkeyedContainer()
    }

    func superEncoder() -> any Encoder { encoder }
}

/// The members of a structure or dictionary, which a field cannot contain: each is refused.
private struct RefusedMembers<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let encoder: ValueEncoder

    var codingPath: [any CodingKey] { [] }

    func encodeNil(forKey key: Key) throws { throw encoder.refusal("has members") }

    func encode(_ value: some Encodable, forKey key: Key) throws {
        throw encoder.refusal("has members")
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy keyType: NestedKey.Type,
        forKey key: Key
    ) -> KeyedEncodingContainer<NestedKey> { encoder.container(keyedBy: keyType) }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        encoder.refusing("has members").unkeyedContainer()
    }

    func superEncoder() -> any Encoder { encoder }
    func superEncoder(forKey key: Key) -> any Encoder { encoder }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The fields of a record, or the fields that a client sets and removes.
///
/// Fields are stored as their bytes (Docs/formats/record.md, "Fields"). The bytes are sorted by
/// name and have an offset table, so that a field is found by binary search and decoded on access.
/// Fields of the same names, values and stamps have the same bytes. A copy shares the bytes.
public struct Fields: Sendable {
    /// The bytes, checked when the value was created.
    package let bytes: ArraySlice<UInt8>
    /// The traits of the fields, if they were found out when the value was created.
    @usableFromInline package let knownTraits: Traits

    /// Wraps bytes whose structure is known to be sound.
    init(sound bytes: ArraySlice<UInt8>, _ traits: Traits = .unread) {
        self.bytes = bytes
        knownTraits = traits
    }

    /// No fields.
    public init() {
        self.init(sound: [0, 0], [])
    }

    /// Encodes fields; a field with the value `nil` is a removal.
    ///
    /// Throws `invalidArguments` for a duplicate name, and for a value that cannot be stored. A
    /// save checks that the names are allowed.
    public init(_ fields: KeyValuePairs<String, FieldValue?>) throws(SyncError) {
        var builder = FieldsBuilder()
        for (name, value) in fields { try builder.set(name, value) }
        self = try builder.finish()
    }

    /// The number of fields, removals included.
    public var count: Int { bytes.span.bytes.word16(at: 0) }

    /// True if there are no fields, not even removals.
    public var isEmpty: Bool { count == 0 }

    /// The value of a field; `nil` if it is absent or removed.
    ///
    /// Setting `nil` makes a save remove the field. A save refuses a value that cannot be stored,
    /// such as one that is not a number. Reading is O(log fields), then the value. Setting is
    /// O(bytes): use a ``FieldsBuilder`` for many records.
    public subscript(_ name: String) -> FieldValue? {
        get { index(of: name).flatMap { self[$0].value } }
        set { set(name, newValue) }
    }

    /// Returns the index of a field, by its name; `nil` if there is none.
    ///
    /// Removals count as fields.
    ///
    /// O(log fields).
    public func index(of name: String) -> Int? {
        Name(name).withBytes {
            FieldEntry.index(of: UnsafeRawBufferPointer($0), in: bytes.span.bytes)
        }
    }

    /// Returns the index of a field, by its name's bytes; `nil` if there is none.
    ///
    /// Removals count as fields.
    ///
    /// O(log fields).
    package func index(ofBytes name: ArraySlice<UInt8>) -> Int? {
        name.withUnsafeBytes { FieldEntry.index(of: $0, in: bytes.span.bytes) }
    }
}

extension Fields: RandomAccessCollection {
    /// One field: cheap to pass on, decoded on access.
    public struct Element: Sendable {
        let fields: Fields
        let entry: FieldEntry
    }

    /// Zero.
    public var startIndex: Int { 0 }

    /// The number of fields, removals included.
    public var endIndex: Int { count }

    /// A field by its place in the order of the names' bytes.
    ///
    /// O(1).
    public subscript(position: Int) -> Element {
        // Needed in release builds too, where the reads of a row are not checked.
        precondition(position >= 0 && position < count, "a field's index is out of range")
        return Element(fields: self, entry: FieldEntry(at: position, in: bytes.span.bytes))
    }
}

extension Fields {
    /// Reads the fields in order, and the number of fields once.
    public struct Iterator: IteratorProtocol, Sendable {
        private let fields: Fields
        private let end: Int
        private var position = 0

        init(_ fields: Fields) {
            self.fields = fields
            end = fields.count
        }

        /// Returns the next field; `nil` after the last one.
        public mutating func next() -> Element? {
            guard position < end else { return nil }
            defer { position += 1 }
            let entry = FieldEntry(at: position, in: fields.bytes.span.bytes)
            return Element(fields: fields, entry: entry)
        }
    }

    /// Returns an iterator over the fields, removals included.
    public func makeIterator() -> Iterator { Iterator(self) }

    /// The fields that have a value, in order.
    public var present: some Sequence<Element> { lazy.filter { !$0.isRemoved } }
}

extension Fields {
    /// A field that has a value, as bytes that are lent for one call.
    package struct LentField {
        /// Its index in the fields.
        package let index: Int
        package let type: FieldType
        package let isEncrypted: Bool
        /// The name's UTF-8.
        package let name: UnsafeBufferPointer<UInt8>
        /// The value as it is stored.
        package let value: UnsafeBufferPointer<UInt8>

        /// The value of an integer or a time; `nil` if the stored value is not one.
        package var wholeNumber: Int64? {
            guard value.count == 8 else { return nil }
            let word = UnsafeRawBufferPointer(value).loadUnaligned(as: Int64.self)
            return Int64(littleEndian: word)
        }
    }

    /// Calls a closure with each field that has a value, in order.
    ///
    /// For writers of many records: unlike an element, a lent field retains nothing.
    package func forEachLent(_ body: (LentField) -> Void) {
        let span = bytes.span.bytes
        for index in 0..<count {
            let entry = FieldEntry(at: index, in: span)
            guard let type = FieldType(rawValue: entry.type) else { continue }
            bytes.withUnsafeBufferPointer { buffer in
                body(
                    LentField(
                        index: index,
                        type: type,
                        isEncrypted: entry.flags & FieldEntry.encrypted != 0,
                        name: UnsafeBufferPointer(rebasing: buffer[entry.nameRange]),
                        value: UnsafeBufferPointer(rebasing: buffer[entry.valueRange])
                    )
                )
            }
        }
    }
}

extension Fields: Hashable {
    /// Returns true if two values have the same bytes.
    public static func == (lhs: Fields, rhs: Fields) -> Bool {
        ByteEquality.areEqual(lhs.bytes, rhs.bytes)
    }

    /// Hashes the bytes.
    public func hash(into hasher: inout Hasher) {
        bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
    }
}

extension Fields.Element {
    /// The field's name.
    public var name: String { String(decoding: nameBytes, as: UTF8.self) }

    /// The name's UTF-8 bytes, shared.
    package var nameBytes: ArraySlice<UInt8> { slice(entry.nameRange) }

    /// The value's bytes, shared.
    package var valueBytes: ArraySlice<UInt8> { slice(entry.valueRange) }

    /// The type; `nil` if the field is removed.
    public var type: FieldType? { FieldType(rawValue: entry.type) }

    /// True if the entry says that the field was removed, or is to be removed.
    public var isRemoved: Bool { entry.type == FieldEntry.removed }

    /// True if the client encrypted the value.
    public var isEncrypted: Bool { entry.flags & FieldEntry.encrypted != 0 }

    /// The sequence number of the event that last set or removed the field; 0 for the event that
    /// holds it.
    package var stamp: UInt64 { entry.stamp(in: fields.bytes.span.bytes) }

    /// The value; `nil` if the field is removed.
    ///
    /// A string, bytes or list is copied out.
    public var value: FieldValue? {
        let bytes = fields.bytes.span.bytes
        let range = entry.valueRange
        // Whole numbers and times need none of the calls that the other types do.
        if range.count == 8 {
            switch entry.type {
            case FieldType.int64.rawValue:
                return .int64(Int64(bitPattern: bytes.word64(at: range.lowerBound)))
            case FieldType.timestamp.rawValue:
                return .timestamp(Int64(bitPattern: bytes.word64(at: range.lowerBound)))
            default: break
            }
        }
        guard let type else { return nil }
        return FieldValue(decoding: bytes.extracting(range), as: type)
    }

    private func slice(_ range: Range<Int>) -> ArraySlice<UInt8> {
        let start = fields.bytes.startIndex
        return fields.bytes[start + range.lowerBound..<start + range.upperBound]
    }
}

extension Fields: CustomStringConvertible {
    /// The names and values in order, with a mark for removals.
    public var description: String {
        let fields = map { field in
            let value = field.value.map { "\($0)" } ?? (field.isRemoved ? "removed" : "invalid")
            return "\(field.name): \(value)"
        }
        return "[\(fields.joined(separator: ", "))]"
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The place of a value or of a list's element in a record's bytes.
///
/// No access reads beyond the range, whatever the bytes are: the bytes of a value are not checked
/// when a record is read from the log.
struct StoredValue {
    let type: FieldType
    let range: Range<Int>
    /// True if a reference is the bare name of a record, as in a record's system fields.
    var isBareName = false

    /// Returns an integer, or a time.
    func int64(in bytes: RawSpan) -> Int64? {
        guard range.count == 8 else { return nil }
        return Int64(bitPattern: bytes.word64(at: range.lowerBound))
    }

    /// Returns a number that is not whole.
    func double(in bytes: RawSpan) -> Double? {
        guard range.count == 8 else { return nil }
        let value = Double(bitPattern: bytes.word64(at: range.lowerBound))
        return value.isFinite ? value : nil
    }

    /// Returns a number of either kind.
    func number(in bytes: RawSpan) -> Number? {
        switch type {
        case .int64: int64(in: bytes).map(Number.whole)
        case .double: double(in: bytes).map(Number.real)
        default: nil
        }
    }

    /// Returns a location's coordinates, in degrees.
    func coordinates(in bytes: RawSpan) -> Coordinates? {
        // A byte of flags, then latitude and longitude; the other parts do not matter to queries
        // (Docs/formats/record.md, "Types and values").
        guard type == .location, range.count >= 17 else { return nil }
        let latitude = Double(bitPattern: bytes.word64(at: range.lowerBound + 1))
        let longitude = Double(bitPattern: bytes.word64(at: range.lowerBound + 9))
        guard latitude.isFinite, longitude.isFinite else { return nil }
        return Coordinates(latitude: latitude, longitude: longitude)
    }

    /// Returns the range of the bytes by which texts and references are compared.
    ///
    /// It is the text itself, or the name of the record that the reference names.
    func text(in bytes: RawSpan) -> Range<Int>? {
        switch type {
        case .string: return range
        case .reference:
            if isBareName { return range }
            guard range.count >= 5 else { return nil }
            let zoneByteCount = bytes.word16(at: range.lowerBound + 1)
            let ownerByteCount = bytes.word16(at: range.lowerBound + 3)
            let start = range.lowerBound + 5 + zoneByteCount + ownerByteCount
            // The lengths are not checked when a record is read, so their sum may lie beyond the
            // value.
            return start <= range.upperBound ? start..<range.upperBound : nil
        default: return nil
        }
    }
}

/// The elements of a list, one after another.
struct StoredElements {
    private let type: FieldType
    private var offset: Int
    private let end: Int

    /// Reads a list's value; `nil` if it is not a list.
    init?(_ value: StoredValue) {
        guard let element = value.type.element else { return nil }
        type = element
        offset = value.range.lowerBound
        end = value.range.upperBound
    }

    mutating func next(in bytes: RawSpan) -> StoredValue? {
        switch type {
        case .int64, .double, .timestamp:
            guard end - offset >= 8 else { return nil }
            defer { offset += 8 }
            return StoredValue(type: type, range: offset..<offset + 8)
        default:
            guard end - offset >= 4 else { return nil }
            let byteCount = bytes.word32(at: offset)
            offset += 4
            // A length beyond the end ends the list, as if it had no more elements.
            guard byteCount <= end - offset else { return nil }
            defer { offset += byteCount }
            return StoredValue(type: type, range: offset..<offset + byteCount)
        }
    }
}

extension RecordBody {
    /// Returns the place of a field's value; `nil` if the field is absent, removed or encrypted.
    ///
    /// O(log fields).
    func stored(_ name: [UInt8], fieldsAt start: Int) -> StoredValue? {
        let span = bytes.span.bytes
        let fields = span.extracting(start..<span.byteCount)
        return name.withUnsafeBytes { FieldEntry.index(of: $0, in: fields) }
            .flatMap { StoredValue(FieldEntry(at: $0, in: fields), from: start) }
    }
}

extension RecordBody {
    /// Returns the place of a system field's value; `nil` if the field is absent.
    func stored(_ field: Query.SystemField) -> StoredValue? {
        let text: Text
        switch field {
        case .creationDate: return Self.time(at: Self.createdTimeOffset)
        case .modificationDate: return Self.time(at: Self.modifiedTimeOffset)
        case .recordID: text = .recordName
        case .creatorUserRecordID: text = .createdUser
        case .lastModifiedUserRecordID: text = .modifiedUser
        case .parent: text = .parent
        case .share: text = .share
        }
        let range = range(of: text)
        // Length zero stands for an unknown user, and for no parent or share
        // (Docs/formats/record.md, "Header and texts").
        return range.isEmpty ? nil : StoredValue(type: .reference, range: range, isBareName: true)
    }

    private static func time(at offset: Int) -> StoredValue {
        StoredValue(type: .timestamp, range: offset..<offset + 8)
    }
}

extension StoredValue {
    /// Creates the place of a field's value; `nil` if the field is removed or encrypted.
    init?(_ entry: FieldEntry, from start: Int) {
        guard let type = FieldType(rawValue: entry.type), entry.flags & FieldEntry.encrypted == 0
        else { return nil }
        let range = entry.valueRange
        self.init(type: type, range: range.lowerBound + start..<range.upperBound + start)
    }
}

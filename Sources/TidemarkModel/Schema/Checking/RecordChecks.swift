// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// A schema made ready to check records, once for each schema.
///
/// A check allocates nothing: a record's fields and a type's fields are both in the order of their
/// names' bytes, so both are walked once, side by side. It says only whether a record fits;
/// ``SchemaGrowth`` says what is missing or why it is refused.
public struct RecordChecks: Sendable {
    /// A record type: its name, and which rows are its fields.
    private struct TypeRow {
        var name: Range<Int>
        var fields: Range<Int>
    }

    /// A field: its name, and one bit for each type of value that it takes.
    private struct FieldRow {
        var name: Range<Int>
        var plain: UInt32 = 0
        var encrypted: UInt32 = 0
    }

    private var types: [TypeRow] = []
    private var fields: [FieldRow] = []
    private var names: [UInt8] = []

    /// Prepares a schema.
    ///
    /// O(names and fields).
    public init(_ schema: Schema) {
        for recordType in schema.recordTypes {
            let name = append(recordType.name)
            let first = fields.count
            for field in recordType.fields where !field.isSystem {
                var row = FieldRow(name: append(field.name))
                for type in FieldType.allCases {
                    let bit: UInt32 = 1 << UInt32(type.rawValue)
                    if field.type.admits(type, isEncrypted: false) { row.plain |= bit }
                    if field.type.admits(type, isEncrypted: true) { row.encrypted |= bit }
                }
                fields.append(row)
            }
            types.append(TypeRow(name: name, fields: first..<fields.count))
        }
    }

    private mutating func append(_ name: Name) -> Range<Int> {
        let start = names.count
        names.append(contentsOf: name.string.utf8)
        return start..<names.count
    }

    /// Whether a save fits: the record type is known, and each value has the type of its field.
    ///
    /// Removing a field always fits. O(log record types + fields of the type).
    public func admit(
        _ saved: Fields,
        as recordType: Name,
        in scope: DatabaseScope = .private
    ) -> Bool {
        recordType.withBytes { name in
            admit(saved, as: UnsafeRawBufferPointer(name), in: scope)
        }
    }

    /// Whether a record fits.
    package func admit(_ body: RecordBody, in scope: DatabaseScope = .private) -> Bool {
        body.recordTypeBytes.withUnsafeBytes { admit(body.fields, as: $0, in: scope) }
    }

    private func admit(
        _ saved: Fields,
        as recordType: UnsafeRawBufferPointer,
        in scope: DatabaseScope
    ) -> Bool {
        names.withUnsafeBytes { names in
            guard let rows = fields(of: recordType, names) else { return false }
            return saved.bytes.withUnsafeBytes { bytes in
                walk(saved, bytes, rows, names, allowsEncrypted: scope != .public)
            }
        }
    }

    /// Which rows are the fields of a record type; `nil` if there is no such type.
    private func fields(
        of recordType: UnsafeRawBufferPointer,
        _ names: UnsafeRawBufferPointer
    ) -> Range<Int>? {
        var low = 0
        var high = types.count
        while low < high {
            let middle = (low + high) / 2
            let name = UnsafeRawBufferPointer(rebasing: names[types[middle].name])
            switch ByteOrder.compare(name, recordType) {
            case 0: return types[middle].fields
            case ..<0: low = middle + 1
            default: high = middle
            }
        }
        return nil
    }

    /// Walks the fields of a save beside those of its type.
    private func walk(
        _ saved: Fields,
        _ bytes: UnsafeRawBufferPointer,
        _ rows: Range<Int>,
        _ names: UnsafeRawBufferPointer,
        allowsEncrypted: Bool
    ) -> Bool {
        let span = saved.bytes.span.bytes
        var next = rows.lowerBound
        for index in 0..<span.word16(at: 0) {
            let entry = FieldEntry(at: index, in: span)
            if entry.type == FieldEntry.removed { continue }
            let name = UnsafeRawBufferPointer(rebasing: bytes[entry.nameRange])
            var order = -1
            while order < 0 {
                guard next < rows.upperBound else { return false }
                order = ByteOrder.compare(
                    UnsafeRawBufferPointer(rebasing: names[fields[next].name]),
                    name
                )
                if order <= 0 { next += 1 }
            }
            guard order == 0 else { return false }
            let row = fields[next - 1]
            let isEncrypted = entry.flags & FieldEntry.encrypted != 0
            if isEncrypted, !allowsEncrypted { return false }
            let types = isEncrypted ? row.encrypted : row.plain
            guard types >> UInt32(entry.type) & 1 == 1 else { return false }
        }
        return true
    }
}

/// The order of names as their bytes, eight at a time.
private enum ByteOrder {
    /// Below zero if the first comes before the second, zero if they are the same.
    static func compare(_ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer) -> Int {
        let shared = min(first.count, second.count)
        var index = 0
        while index + 8 <= shared {
            let left = first.loadUnaligned(fromByteOffset: index, as: UInt64.self).bigEndian
            let right = second.loadUnaligned(fromByteOffset: index, as: UInt64.self).bigEndian
            if left != right { return left < right ? -1 : 1 }
            index += 8
        }
        while index < shared {
            let difference = Int(first[index]) - Int(second[index])
            if difference != 0 { return difference }
            index += 1
        }
        return first.count - second.count
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// A schema prepared to check records, once for each schema.
///
/// A check allocates nothing. A record's fields and a type's fields are both in the order of their
/// names' bytes, so one walk compares them side by side. It only reports if a record fits;
/// ``SchemaGrowth`` reports what is missing or the reason for a refusal. A class, so that a check of a
/// record retains one object instead of three arrays.
public final class RecordChecks: Sendable {
    /// A record type: its name, and which rows are its fields.
    private struct TypeRow {
        var name: Range<Int>
        var fields: Range<Int>
    }

    /// A field: its name, and one bit for each type of value that it admits.
    private struct FieldRow {
        var nameStart: Int
        var nameByteCount: Int
        var plain: UInt32 = 0
        var encrypted: UInt32 = 0
    }

    private let types: [TypeRow]
    private let fields: [FieldRow]
    private let names: [UInt8]

    /// Prepares a schema.
    ///
    /// O(names and fields).
    public init(_ schema: Schema) {
        var types: [TypeRow] = []
        var fields: [FieldRow] = []
        var names: [UInt8] = []
        func append(_ name: Name) -> Range<Int> {
            let start = names.count
            names.append(contentsOf: name.string.utf8)
            return start..<names.count
        }
        for recordType in schema.recordTypes {
            let name = append(recordType.name)
            let first = fields.count
            for field in recordType.fields where !field.isSystem {
                let own = append(field.name)
                var row = FieldRow(nameStart: own.lowerBound, nameByteCount: own.count)
                for type in FieldType.allCases {
                    // The largest type is 24, so 32 bits are enough for all types.
                    let bit: UInt32 = 1 << UInt32(type.rawValue)
                    if field.type.admits(type, isEncrypted: false) { row.plain |= bit }
                    if field.type.admits(type, isEncrypted: true) { row.encrypted |= bit }
                }
                fields.append(row)
            }
            types.append(TypeRow(name: name, fields: first..<fields.count))
        }
        (self.types, self.fields, self.names) = (types, fields, names)
    }

    /// Returns true if a save fits: the record type is known, and each value has the type of its
    /// field.
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

    /// The place of a record type in a schema's checks.
    package struct TypePlace: Sendable {
        fileprivate let fields: Range<Int>
    }

    /// Returns the place of a record type; `nil` if the schema has no such type.
    package func place(of recordType: Name) -> TypePlace? {
        recordType.withBytes { name in
            names.withUnsafeBytes { names in
                fields(of: UnsafeRawBufferPointer(name), names).map { TypePlace(fields: $0) }
            }
        }
    }

    /// Returns true if a save fits the record type at a place of these checks.
    package func admit(_ saved: Fields, at place: TypePlace, in scope: DatabaseScope) -> Bool {
        names.withUnsafeBytes { names in admit(saved, place.fields, names, in: scope) }
    }

    /// Returns true if a record fits the schema.
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
            return admit(saved, rows, names, in: scope)
        }
    }

    private func admit(
        _ saved: Fields,
        _ rows: Range<Int>,
        _ names: UnsafeRawBufferPointer,
        in scope: DatabaseScope
    ) -> Bool {
        saved.bytes.withUnsafeBytes { saved in
            fields.withUnsafeBufferPointer { fields in
                Self.walk(
                    saved,
                    UnsafeBufferPointer(rebasing: fields[rows]),
                    names,
                    allowsEncrypted: scope != .public
                )
            }
        }
    }

    /// Returns the rows of a record type's fields; `nil` if there is no such type.
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

    /// Walks the fields of a save and those of its type side by side.
    ///
    /// Reads the rows of the offset table (``FieldEntry``) directly from the bytes, whose structure
    /// was checked when the fields were created.
    private static func walk(
        _ saved: UnsafeRawBufferPointer,
        _ rows: UnsafeBufferPointer<FieldRow>,
        _ names: UnsafeRawBufferPointer,
        allowsEncrypted: Bool
    ) -> Bool {
        let count = Int(UInt16(littleEndian: saved.loadUnaligned(as: UInt16.self)))
        let dataStart = FieldEntry.tableOffset + count * FieldEntry.byteCount
        var start = dataStart
        var next = 0
        for index in 0..<count {
            let row = UInt64(
                littleEndian: saved.loadUnaligned(
                    fromByteOffset: FieldEntry.tableOffset + index * FieldEntry.byteCount,
                    as: UInt64.self
                )
            )
            let nameStart = start
            start = dataStart + Int(truncatingIfNeeded: row & 0xFFFF_FFFF)
            let nameByteCount = Int(truncatingIfNeeded: row >> 32 & 0xFF)
            let type = UInt32(truncatingIfNeeded: row >> 40 & 0xFF)
            // A removed field has no type to check, and need not be in the schema.
            if type == FieldEntry.removed { continue }
            // The body of a stored record may be damaged behind its frame's checksum.
            guard nameStart >= dataStart, nameStart + nameByteCount <= saved.count else {
                return false
            }
            let name = UnsafeRawBufferPointer(
                rebasing: saved[nameStart..<nameStart + nameByteCount]
            )
            var order = -1
            // Both lists are in the order of the names' bytes, so a row that was passed is not
            // needed again.
            while order < 0 {
                guard next < rows.count else { return false }
                let own = rows[next].nameStart..<rows[next].nameStart + rows[next].nameByteCount
                order = ByteOrder.compare(UnsafeRawBufferPointer(rebasing: names[own]), name)
                if order <= 0 { next += 1 }
            }
            guard order == 0 else { return false }
            let isEncrypted = row >> 48 & UInt64(FieldEntry.encrypted) != 0
            if isEncrypted, !allowsEncrypted { return false }
            // The loop has moved past the row that has the name.
            let types = isEncrypted ? rows[next - 1].encrypted : rows[next - 1].plain
            // A type of 32 or more shifts out all bits: such a value is invalid, and no field
            // admits it.
            guard types >> type & 1 == 1 else { return false }
        }
        return true
    }
}

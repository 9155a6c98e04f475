// Tidemark
// SPDX-License-Identifier: Apache-2.0

extension Fields {
    /// Reads fields from untrusted bytes, values and all.
    ///
    /// O(bytes).
    package init(validating bytes: ArraySlice<UInt8>) throws(BodyError) {
        try Self.checkStructure(bytes.span.bytes)
        let fields = Fields(sound: bytes)
        for field in fields where !field.isRemoved && !field.hasValidValue {
            throw BodyError(
                "The field \"\(field.name)\" is not a valid \(field.type?.webName ?? "value").",
                at: field.entry.valueRange.lowerBound
            )
        }
        self = fields
    }

    /// Checks all that finding fields relies on: the table, the order of names, types, stamps.
    ///
    /// Values are not looked into. O(fields and bytes of names).
    static func checkStructure(_ bytes: RawSpan) throws(BodyError) {
        guard bytes.byteCount >= FieldEntry.tableOffset else {
            throw BodyError("Fields need 2 bytes for their count; found \(bytes.byteCount).", at: 0)
        }
        let count = bytes.word16(at: 0)
        let dataStart = FieldEntry.tableOffset + count * FieldEntry.byteCount
        guard bytes.byteCount >= dataStart else {
            throw BodyError(
                "A table of \(count) fields needs \(dataStart) bytes; found \(bytes.byteCount).",
                at: 0
            )
        }
        var previous: FieldEntry?
        for index in 0..<count {
            let entry = FieldEntry(at: index, in: bytes)
            try entry.check(row: FieldEntry.tableOffset + index * FieldEntry.byteCount, in: bytes)
            if let previous {
                let follows = bytes.extracting(previous.nameRange).withUnsafeBytes { name in
                    entry.compareName(to: name, in: bytes) > 0
                }
                guard follows else {
                    throw BodyError(
                        "Names must ascend by their bytes; field \(index) does not follow the one "
                            + "before it.",
                        at: entry.start
                    )
                }
            }
            previous = entry
        }
        let end = previous?.end ?? dataStart
        guard end == bytes.byteCount else {
            throw BodyError(
                "The fields end at byte \(end), but there are \(bytes.byteCount) bytes.",
                at: end
            )
        }
    }
}

extension FieldEntry {
    fileprivate func check(row: Int, in bytes: RawSpan) throws(BodyError) {
        guard nameByteCount > 0 else {
            throw BodyError("A field's name needs at least 1 byte; found 0.", at: row + 4)
        }
        guard type == Self.removed || FieldType(rawValue: type) != nil else {
            throw BodyError("There is no field type \(type).", at: row + 5)
        }
        guard flags == 0 || flags == Self.encrypted && type != Self.removed else {
            throw BodyError("The flags \(flags) have no meaning for type \(type).", at: row + 6)
        }
        guard stampByteCount <= 8 else {
            throw BodyError("A stamp has at most 8 bytes; found \(stampByteCount).", at: row + 7)
        }
        let needed = start + nameByteCount + stampByteCount
        guard end <= bytes.byteCount, end >= needed, type != Self.removed || end == needed else {
            throw BodyError(
                "A field of \(nameByteCount) bytes of name and \(stampByteCount) of stamp cannot "
                    + "lie at bytes \(start) to \(end) of \(bytes.byteCount).",
                at: row
            )
        }
        guard stampByteCount == 0 || bytes.byte(at: stampRange.upperBound - 1) != 0 else {
            throw BodyError(
                "A stamp's last byte must not be zero.",
                at: stampRange.upperBound - 1
            )
        }
        let isText = bytes.extracting(nameRange).withUnsafeBytes {
            UTF8Text.isValid($0.assumingMemoryBound(to: UInt8.self))
        }
        guard isText else { throw BodyError("A field's name is not UTF-8.", at: start) }
    }
}

extension Fields.Element {
    /// Whether the value's bytes are those of its type.
    ///
    /// Long values are not copied.
    fileprivate var hasValidValue: Bool {
        switch type {
        case .bytes: true
        case .string: valueBytes.withUnsafeBufferPointer(UTF8Text.isValid)
        default: value != nil
        }
    }
}

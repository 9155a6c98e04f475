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
                "The field \"\(field.name)\" has bytes that no \(field.type?.webName ?? "value") has.",
                at: field.entry.valueRange.lowerBound
            )
        }
        self.init(sound: bytes, fields.traits)
    }

    /// Checks that the table of the fields lies within their bytes; returns the number of fields.
    @discardableResult
    static func checkTable(_ bytes: RawSpan) throws(BodyError) -> Int {
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
        return count
    }

    /// Checks everything that finding fields relies on: the table, the order of names, types,
    /// stamps.
    ///
    /// Does not read values. O(fields and bytes of names).
    static func checkStructure(_ bytes: RawSpan) throws(BodyError) {
        let count = try checkTable(bytes)
        let dataStart = FieldEntry.tableOffset + count * FieldEntry.byteCount
        var end = dataStart
        // Every name sorts after the empty one.
        var last = (name: 0..<0, prefix: UInt64(0))
        for index in 0..<count {
            let row = FieldEntry.tableOffset + index * FieldEntry.byteCount
            let entry = FieldEntry(row: row, start: end, dataStart: dataStart, in: bytes)
            try entry.check(row: row, in: bytes)
            // Unless two neighbours share their first eight bytes, one comparison of numbers orders
            // them.
            let prefix = entry.namePrefix(in: bytes)
            guard entry.isText(prefix, in: bytes) else {
                throw BodyError("A field's name is not UTF-8.", at: entry.start)
            }
            guard
                prefix == last.prefix
                    ? entry.hasName(after: last.name, in: bytes) : prefix > last.prefix
            else {
                throw BodyError(
                    "Names must ascend by their bytes; field \(index) does not follow the one "
                        + "before it.",
                    at: entry.start
                )
            }
            last = (entry.nameRange, prefix)
            end = entry.end
        }
        guard end == bytes.byteCount else {
            throw BodyError(
                "The fields end at byte \(end), but there are \(bytes.byteCount) bytes.",
                at: end
            )
        }
    }
}

extension FieldEntry {
    /// Returns the name's first eight bytes as a number, padded with zeros.
    ///
    /// The numbers sort as the names' bytes do, and answer most questions about the names.
    @inline(__always)
    fileprivate func namePrefix(in bytes: RawSpan) -> UInt64 {
        let unused = UInt64(8 * Swift.max(0, 8 - nameByteCount))
        // One load, from which the bytes after the name are shifted out. Near the end of the fields
        // a load of eight bytes would leave them.
        if start + 8 <= bytes.byteCount {
            return (bytes.word64(at: start).byteSwapped >> unused) << unused
        }
        var prefix: UInt64 = 0
        for index in 0..<Swift.min(8, nameByteCount) {
            prefix = prefix << 8 | UInt64(bytes.byte(at: start + index))
        }
        return prefix << unused
    }

    /// Returns true if the field's name, which begins with a prefix, is UTF-8.
    @inline(__always)
    fileprivate func isText(_ prefix: UInt64, in bytes: RawSpan) -> Bool {
        // The prefix of such a name is the whole name, and ASCII is always UTF-8.
        if nameByteCount <= 8, prefix & 0x8080_8080_8080_8080 == 0 { return true }
        return bytes.extracting(nameRange).withUnsafeBytes {
            UTF8Text.isValid($0.assumingMemoryBound(to: UInt8.self))
        }
    }

    /// Returns true if the field's name sorts after another one.
    fileprivate func hasName(after other: Range<Int>, in bytes: RawSpan) -> Bool {
        for index in 0..<Swift.min(nameByteCount, other.count) {
            let byte = bytes.byte(at: start + index)
            let otherByte = bytes.byte(at: other.lowerBound + index)
            if byte != otherByte { return byte > otherByte }
        }
        return nameByteCount > other.count
    }

    @inline(__always)
    fileprivate func check(row: Int, in bytes: RawSpan) throws(BodyError) {
        // `checkStructure` starts from an empty name, which must sort before the first field.
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
        // A stamp has as few bytes as possible, so that equal records have equal bytes.
        guard stampByteCount == 0 || bytes.byte(at: stampRange.upperBound - 1) != 0 else {
            throw BodyError(
                "A stamp's last byte must not be zero.",
                at: stampRange.upperBound - 1
            )
        }
    }
}

extension Fields.Element {
    /// True if the value's bytes are valid for its type.
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

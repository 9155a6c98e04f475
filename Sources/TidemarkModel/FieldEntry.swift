// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// One row of the offset table before the fields: the places of a field's name, stamp and value.
///
/// All offsets count from the first byte of the fields.
struct FieldEntry: Sendable {
    /// The type of a field that was removed.
    static let removed: UInt8 = 0
    /// The type of a field whose value cannot be stored: its value is the text of the error.
    ///
    /// Only fields of a save that is being prepared have this type, and the save is refused.
    static let invalid: UInt8 = 0xFF
    /// The flag of a value that the client encrypted.
    static let encrypted: UInt8 = 1
    /// The number of bytes before the first row, which hold the number of rows.
    static let tableOffset = 2
    /// Bytes of a row.
    static let byteCount = 8

    var start: Int
    var nameByteCount: Int
    var stampByteCount: Int
    var end: Int
    var type: UInt8
    var flags: UInt8

    /// Reads a row of a table that lies within the bytes.
    ///
    /// If the field of the row does not lie within the bytes, the row is read as an empty, removed
    /// field, so that no access leaves the bytes.
    @inline(__always)
    init(at index: Int, in bytes: RawSpan) {
        let dataStart = Self.tableOffset + Self.byteCount * bytes.word16(at: 0)
        let row = Self.tableOffset + Self.byteCount * index
        // A row has only the end of its field. The field begins at the end in the previous row.
        let start = index == 0 ? 0 : bytes.word32(at: row - Self.byteCount)
        self.init(row: row, start: dataStart + start, dataStart: dataStart, in: bytes)
        guard end <= bytes.byteCount, self.start + nameByteCount + stampByteCount <= end else {
            self.init(emptyAt: dataStart)
            return
        }
    }

    private init(emptyAt start: Int) {
        self.start = start
        end = start
        nameByteCount = 0
        stampByteCount = 0
        type = Self.removed
        flags = 0
    }

    /// Reads a row, given the end of the previous field.
    @inline(__always)
    init(row: Int, start: Int, dataStart: Int, in bytes: RawSpan) {
        let word = bytes.word64(at: row)
        self.start = start
        end = dataStart + Int(UInt32(truncatingIfNeeded: word))
        nameByteCount = Int(UInt8(truncatingIfNeeded: word >> 32))
        type = UInt8(truncatingIfNeeded: word >> 40)
        flags = UInt8(truncatingIfNeeded: word >> 48)
        stampByteCount = Int(UInt8(truncatingIfNeeded: word >> 56))
    }

    /// Returns the type in a row, without reading the rest of the row.
    static func type(at index: Int, in bytes: RawSpan) -> UInt8 {
        // The type is the byte 5 of a row (Docs/formats/record.md, "Fields").
        bytes.byte(at: tableOffset + byteCount * index + 5)
    }

    /// Returns the flags in a row, without reading the rest of the row.
    static func flags(at index: Int, in bytes: RawSpan) -> UInt8 {
        bytes.byte(at: tableOffset + byteCount * index + 6)
    }

    /// Returns the number of bytes of the stamp in a row, without reading the rest of the row.
    static func stampByteCount(at index: Int, in bytes: RawSpan) -> UInt8 {
        bytes.byte(at: tableOffset + byteCount * index + 7)
    }

    var nameRange: Range<Int> { start..<start + nameByteCount }

    var stampRange: Range<Int> { start + nameByteCount..<start + nameByteCount + stampByteCount }

    var valueRange: Range<Int> { start + nameByteCount + stampByteCount..<end }

    func stamp(in bytes: RawSpan) -> UInt64 {
        var stamp: UInt64 = 0
        for offset in stampRange.reversed() { stamp = stamp << 8 | UInt64(bytes.byte(at: offset)) }
        return stamp
    }

    /// Returns the index of a field by its name, in the fields of a record; `nil` if there is none.
    ///
    /// O(log fields).
    static func index(of name: UnsafeRawBufferPointer, in fields: RawSpan) -> Int? {
        var low = 0
        var high = fields.word16(at: 0)
        while low < high {
            let middle = (low + high) / 2
            switch FieldEntry(at: middle, in: fields).compareName(to: name, in: fields) {
            case 0: return middle
            case ..<0: low = middle + 1
            default: high = middle
            }
        }
        return nil
    }

    /// Compares the field's name with another: negative if it sorts first, zero if they are equal.
    func compareName(to other: UnsafeRawBufferPointer, in bytes: RawSpan) -> Int {
        bytes.extracting(nameRange).withUnsafeBytes { ByteOrder.compare($0, other) }
    }

    /// Appends a row.
    static func appendRow(
        end: Int,
        nameByteCount: Int,
        type: UInt8,
        flags: UInt8,
        stamp: UInt64,
        to bytes: inout [UInt8]
    ) {
        bytes.append(
            littleEndian: row(
                end: end,
                nameByteCount: nameByteCount,
                type: type,
                flags: flags,
                stamp: stamp
            )
        )
    }

    /// Returns a row, to be stored with the least significant byte first.
    @inline(__always)
    static func row(
        end: Int,
        nameByteCount: Int,
        type: UInt8,
        flags: UInt8,
        stamp: UInt64
    ) -> UInt64 {
        // Nothing is cut off: `FieldsBuilder.finish()` refuses more than 4 GiB, and
        // `Limits.bytesPerRecord` is at most 1 GiB.
        let low = UInt64(UInt32(truncatingIfNeeded: end))
        let lengths =
            UInt64(UInt8(truncatingIfNeeded: nameByteCount)) << 32
            | UInt64(UInt8(truncatingIfNeeded: stampByteCount(of: stamp))) << 56
        return low | lengths | UInt64(type) << 40 | UInt64(flags) << 48
    }

    /// Returns the number of bytes of a stamp.
    ///
    /// Zero takes none, and the last byte is never zero.
    static func stampByteCount(of stamp: UInt64) -> Int {
        // The number of significant bits, divided by eight and rounded up.
        (71 - stamp.leadingZeroBitCount) / 8
    }

    /// Appends a stamp's bytes, least significant first.
    static func appendStamp(_ stamp: UInt64, to bytes: inout [UInt8]) {
        var rest = stamp
        while rest != 0 {
            bytes.append(UInt8(truncatingIfNeeded: rest))
            rest >>= 8
        }
    }
}

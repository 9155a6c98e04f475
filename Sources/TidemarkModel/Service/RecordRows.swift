// Tidemark
// SPDX-License-Identifier: Apache-2.0

import CPlatform

/// A table of records and deletions in blocks of the log.
///
/// A row has the version, the kind and the range of its bytes. Appending a row copies nothing,
/// unless the bytes are in no block.
@usableFromInline
package struct RecordRows: Sendable {
    /// The kind of change that a row reports.
    @usableFromInline
    package enum Kind: UInt8, Sendable {
        /// The record has the body that the row refers to.
        case changed
        /// The record is gone; the row refers to its name, then its type.
        case deleted
        /// The record is gone for the reader, whatever the body of the row contains.
        case gone
    }

    @usableFromInline
    package struct Row: Sendable {
        /// Position of the event that made the version.
        @usableFromInline package let sequence: UInt64
        /// The low half of the incarnation that wrote the event.
        @usableFromInline package let incarnationBits: UInt32
        /// The place of the block among the blocks; `made` for bytes that are in none.
        @usableFromInline let block: UInt32
        @usableFromInline let start: UInt32
        @usableFromInline let end: UInt32
        /// Of a deletion: how many of the bytes are the name.
        @usableFromInline let nameByteCount: UInt16
        @usableFromInline package let kind: Kind

        @inlinable @inline(__always)
        init(
            _ kind: Kind,
            _ sequence: UInt64,
            _ incarnationBits: UInt32,
            in block: UInt32,
            _ range: Range<Int>,
            nameByteCount: Int
        ) {
            self.kind = kind
            self.sequence = sequence
            self.incarnationBits = incarnationBits
            self.block = block
            start = UInt32(truncatingIfNeeded: range.lowerBound)
            end = UInt32(truncatingIfNeeded: range.upperBound)
            // A name has at most 65,535 bytes.
            self.nameByteCount = UInt16(truncatingIfNeeded: nameByteCount)
        }

        fileprivate static let made = UInt32.max
    }

    private struct Block {
        var bytes: [UInt8]
        /// The address of the bytes, for prefetches: asking the array for it would retain the array.
        var address: UInt
    }

    @usableFromInline var rows: [Row] = []
    /// The place of the block that began last.
    @usableFromInline var lastBlock = Row.made
    private var blocks: [Block] = []
    /// The bytes of rows that are in no block.
    private var made: [UInt8] = []

    /// Starts without rows.
    package init() {}

    package mutating func reserveCapacity(_ count: Int) {
        rows.reserveCapacity(count)
    }

    package var count: Int { rows.count }

    package subscript(index: Int) -> Row { rows[index] }

    /// Begins a block, which holds the bytes of the rows that are appended next.
    ///
    /// A block that begins again is listed twice, which costs a reference and no copy.
    package mutating func begin(_ block: [UInt8]) {
        let address = block.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) }
        lastBlock = UInt32(truncatingIfNeeded: blocks.count)
        blocks.append(Block(bytes: block, address: address))
    }

    /// Appends a row for bytes in the block that began last; `nameByteCount` is zero except for deletions.
    @inlinable @inline(__always)
    package mutating func append(
        _ kind: Kind,
        _ sequence: UInt64,
        _ incarnationBits: UInt32,
        _ range: Range<Int>,
        nameByteCount: Int
    ) {
        rows.append(
            Row(kind, sequence, incarnationBits, in: lastBlock, range, nameByteCount: nameByteCount)
        )
    }

    /// Appends a record whose body is in no block.
    package mutating func append(
        _ body: RecordBody,
        _ sequence: UInt64,
        _ incarnationBits: UInt32
    ) {
        let start = made.count
        made.append(contentsOf: body.bytes)
        appendMade(.changed, sequence, incarnationBits, from: start)
    }

    /// Appends a deletion whose name and type are in no block.
    package mutating func appendDeletion(
        of name: some Collection<UInt8>,
        _ type: some Collection<UInt8>,
        _ sequence: UInt64,
        _ incarnationBits: UInt32
    ) {
        let start = made.count
        made.append(contentsOf: name)
        made.append(contentsOf: type)
        appendMade(.deleted, sequence, incarnationBits, from: start, nameByteCount: name.count)
    }

    private mutating func appendMade(
        _ kind: Kind,
        _ sequence: UInt64,
        _ incarnationBits: UInt32,
        from start: Int,
        nameByteCount: Int = 0
    ) {
        let range = start..<made.count
        rows.append(
            Row(kind, sequence, incarnationBits, in: Row.made, range, nameByteCount: nameByteCount)
        )
    }

    /// Appends a copy of a row of the same table.
    package mutating func append(again row: Row) {
        rows.append(row)
    }

    /// Drops the last rows.
    package mutating func removeLast(_ count: Int) {
        rows.removeLast(count)
    }

    /// Takes the rows out, and keeps the blocks that they refer to.
    package mutating func removeRows() -> [Row] {
        defer { rows = [] }
        return rows
    }

    /// Reorders the rows; each element of `order` is the previous index of a row.
    package mutating func reorder(_ order: [Int]) {
        rows = order.map { rows[$0] }
    }
}

// MARK: - Reading

extension RecordRows {
    /// Returns the bytes of a row: a body, or a deletion's name and type.
    @inline(__always)
    package func bytes(of row: Row) -> ArraySlice<UInt8> {
        let range = Int(row.start)..<Int(row.end)
        return row.block == Row.made ? made[range] : blocks[Int(row.block)].bytes[range]
    }

    /// Returns the body of a row that is not of kind ``Kind/deleted``.
    package func body(of row: Row) -> RecordBody {
        RecordBody(sound: bytes(of: row))
    }

    /// Returns the name and the type of a row's record as UTF-8, shared.
    package func nameAndType(of row: Row) -> (name: ArraySlice<UInt8>, type: ArraySlice<UInt8>) {
        guard row.kind == .deleted else {
            let body = body(of: row)
            return (body.recordNameBytes, body.recordTypeBytes)
        }
        let bytes = bytes(of: row)
        let split = bytes.startIndex + Int(row.nameByteCount)
        return (bytes[..<split], bytes[split...])
    }

    /// Returns a row as a line of a zone's delta, with the selected fields only.
    package func change(
        at index: Int,
        in zone: ZoneID,
        selecting selection: FieldSelection?
    ) -> RecordChange {
        let row = rows[index]
        if index + 1 < rows.count { prefetch(rows[index + 1]) }
        let tag = RecordChangeTag(sequence: row.sequence, incarnationBits: row.incarnationBits)
        guard row.kind == .changed, selection == nil else {
            return change(row, in: zone, tag, selecting: selection)
        }
        return .changed(Record(zone: zone, changeTag: tag, body: body(of: row)))
    }

    /// Has the processor load the bytes of a row that is read next, at most 1 KiB.
    ///
    /// The rows of a page are read in order, and lie too far apart for the processor to predict.
    @inline(__always)
    private func prefetch(_ row: Row) {
        guard row.block != Row.made else { return }
        let address = blocks[Int(row.block)].address + UInt(row.start)
        tidemark_prefetch_bytes(UnsafeRawPointer(bitPattern: address), Int(row.end - row.start))
    }

    // Deletions and selected fields are rarer than records, whose path is shorter without them.
    @inline(never)
    private func change(
        _ row: Row,
        in zone: ZoneID,
        _ tag: RecordChangeTag,
        selecting selection: FieldSelection?
    ) -> RecordChange {
        if row.kind == .changed {
            let record = Record(zone: zone, changeTag: tag, body: body(of: row))
            return .changed(selection.map(record.narrowed) ?? record)
        }
        let (name, type) = nameAndType(of: row)
        return .deleted(
            DeletedRecord(
                recordID: RecordID(recordName: String(decoding: name, as: UTF8.self), zone: zone),
                recordType: String(decoding: type, as: UTF8.self),
                changeTag: tag
            )
        )
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkModel

extension RecordsForm where Request == ZoneChangesRequest, Answer == ZoneChanges {
    /// A zone's delta: its records are the bytes of the log's blocks, copied once.
    static var changes: RecordsForm {
        RecordsForm(
            writeRequest: { ChangesForm.message(for: $0) },
            readRequest: { (bytes) throws(WireFormError) in try ChangesForm.request(from: bytes) },
            writeAnswer: { ChangesForm.message(for: $0) },
            readAnswer: { (bytes) throws(WireFormError) in try ChangesForm.answer(from: bytes) }
        )
    }
}

private enum ChangesForm {
    // MARK: Requests

    private static let hasToken: UInt8 = 1
    private static let hasLimit: UInt8 = 2
    private static let hasByteLimit: UInt8 = 4
    private static let hasKeys: UInt8 = 8

    static func message(for request: ZoneChangesRequest) -> WireMessage {
        WireMessage(.records) { writer in
            writer.begin(.changesRequest)
            writer.append(
                (request.since == nil ? 0 : hasToken) | (request.limit == nil ? 0 : hasLimit)
                    | (request.byteLimit == nil ? 0 : hasByteLimit)
                    | (request.desiredKeys == nil ? 0 : hasKeys)
            )
            writer.append(request.zone)
            if let token = request.since { writer.append(blob: token.bytes[...]) }
            if let limit = request.limit { writer.append(Int64(limit)) }
            if let limit = request.byteLimit { writer.append(Int64(limit)) }
            if let keys = request.desiredKeys { writer.append(keys) }
        }
    }

    static func request(from bytes: [UInt8]) throws(WireFormError) -> ZoneChangesRequest {
        var reader = try WireReader(bytes, .changesRequest)
        let flags = try reader.flags(hasToken | hasLimit | hasByteLimit | hasKeys)
        var request = ZoneChangesRequest(zone: try reader.zone())
        if flags & hasToken != 0 { request.since = ChangeToken(bytes: Array(try reader.blob())) }
        if flags & hasLimit != 0 { request.limit = try reader.limit() }
        if flags & hasByteLimit != 0 { request.byteLimit = try reader.limit() }
        if flags & hasKeys != 0 { request.desiredKeys = try reader.keys() }
        try reader.finish()
        return request
    }

    // MARK: Answers

    private static let isMoreComing: UInt8 = 1
    /// The tags are texts, because no position of a log is known of the records.
    private static let hasTextTags: UInt8 = 2

    private static let changed: UInt8 = 0
    private static let deleted: UInt8 = 1

    /// The bytes of records in one block when an answer is read: a record retains its block.
    private static let blockByteCount = 32 << 10

    static func message(for answer: ZoneChanges) -> WireMessage? {
        // The common case, without an object per record: the rows refer to blocks of the log. The
        // form names one zone for the whole page, so lines of another zone do not fit.
        if let table = answer.changes.table, table.zone == answer.zone {
            // Outside of the closure, which runs twice: once to count and once to write.
            let narrowed = narrowedBodies(table.rows, table.selection)
            return WireMessage(.records) { writer in
                head(answer, 0, &writer)
                append(table.rows, narrowed, to: &writer)
            }
        }
        // A page that was made otherwise, such as by a service for tests. Its tags need not be
        // those of a log, so they are texts.
        let lines = Array(answer.changes)
        guard lines.allSatisfy({ $0.zone == answer.zone }) else { return nil }
        return WireMessage(.records) { writer in
            head(answer, hasTextTags, &writer)
            for line in lines { append(line, to: &writer) }
        }
    }

    private static func head(_ answer: ZoneChanges, _ flags: UInt8, _ writer: inout WireWriter) {
        writer.begin(.changesAnswer)
        writer.append(flags | (answer.moreComing ? isMoreComing : 0))
        writer.append(answer.zone)
        writer.append(blob: answer.token.bytes[...])
        writer.append(UInt32(truncatingIfNeeded: answer.changes.count))
    }

    /// Returns the bodies with the selected fields only; empty if all fields are selected.
    private static func narrowedBodies(
        _ rows: RecordRows,
        _ selection: FieldSelection?
    ) -> [RecordBody?] {
        guard let selection else { return [] }
        return (0..<rows.count).map { index in
            let row = rows[index]
            guard row.kind == .changed else { return nil }
            // Only the body is used: zone and tag are placeholders.
            let record = Record(zone: .default, changeTag: nil, body: rows.body(of: row))
            return record.narrowed(to: selection).body
        }
    }

    private static func append(
        _ rows: RecordRows,
        _ narrowed: [RecordBody?],
        to writer: inout WireWriter
    ) {
        for index in 0..<rows.count {
            let row = rows[index]
            // A row of the kind `gone` is a deletion too: the client may not see what the body
            // holds.
            writer.append(row.kind == .changed ? changed : deleted)
            writer.append(row.sequence)
            writer.append(row.incarnationBits)
            guard row.kind == .changed else {
                let (name, type) = rows.nameAndType(of: row)
                append(deletionOf: name, type, to: &writer)
                continue
            }
            let body = narrowed.isEmpty ? nil : narrowed[index]
            writer.append(blob: body?.bytes ?? rows.bytes(of: row))
        }
    }

    private static func append(
        deletionOf name: ArraySlice<UInt8>,
        _ type: ArraySlice<UInt8>,
        to writer: inout WireWriter
    ) {
        writer.append(UInt32(truncatingIfNeeded: name.count))
        writer.append(UInt32(truncatingIfNeeded: type.count))
        writer.append(bytes: name)
        writer.append(bytes: type)
    }

    private static func append(_ line: RecordChange, to writer: inout WireWriter) {
        switch line {
        case .changed(let record):
            writer.append(changed)
            writer.append(record.changeTag)
            writer.append(blob: record.body.bytes)
        case .deleted(let record):
            writer.append(deleted)
            writer.append(record.changeTag)
            append(
                deletionOf: Array(record.recordID.recordName.utf8)[...],
                Array(record.recordType.utf8)[...],
                to: &writer
            )
        }
    }

    static func answer(from bytes: [UInt8]) throws(WireFormError) -> ZoneChanges {
        var reader = try WireReader(bytes, .changesAnswer)
        let flags = try reader.flags(isMoreComing | hasTextTags)
        let zone = try reader.zone()
        // A copy: the client keeps the token, and a slice would retain the whole page.
        let token = ChangeToken(bytes: Array(try reader.blob()))
        // The smallest item has a kind (1 byte) and the lengths of a tag and a body (4 bytes each).
        let count = try reader.count(ofItems: 9)
        // The flag decides between two kinds of lines for the whole page, so the loops have no test
        // per line.
        let changes =
            flags & hasTextTags == 0
            ? RecordChanges(try rows(count, from: &reader), in: zone)
            : RecordChanges(try lines(count, zone, from: &reader))
        try reader.finish()
        return ZoneChanges(
            zone: zone,
            changes: changes,
            token: token,
            moreComing: flags & isMoreComing != 0
        )
    }

    /// A row whose block is not known yet.
    private struct Row {
        let kind: RecordRows.Kind
        let sequence: UInt64
        let incarnationBits: UInt32
        let range: Range<Int>
        let nameByteCount: Int
    }

    private static func rows(
        _ count: Int,
        from reader: inout WireReader
    ) throws(WireFormError) -> RecordRows {
        var table = RecordRows()
        table.reserveCapacity(count)
        var rows: [Row] = []
        var start = reader.offset
        for index in 0..<count {
            // A byte of one known flag is 0 or 1, the two kinds of lines.
            let kind = try reader.flags(deleted)
            let sequence = try reader.word64()
            let incarnationBits = try reader.word32()
            var nameByteCount = 0
            let range: Range<Int>
            if kind == changed {
                let body = try reader.body()
                // The body is a slice of the message, so its indices are offsets in it.
                range = body.bytes.startIndex..<body.bytes.endIndex
            } else {
                let (name, type) = try deletion(from: &reader)
                range = name.lowerBound..<type.upperBound
                nameByteCount = name.count
            }
            rows.append(
                Row(
                    kind: kind == changed ? .changed : .deleted,
                    sequence: sequence,
                    incarnationBits: incarnationBits,
                    range: range,
                    nameByteCount: nameByteCount
                )
            )
            // Rows are collected until a block is full. A record that the client keeps then retains
            // about 32 KiB, or more if it is larger itself, and not the whole page.
            guard reader.offset - start >= blockByteCount || index == count - 1 else { continue }
            table.begin(Array(reader.bytes[start..<reader.offset]))
            for row in rows {
                table.append(
                    row.kind,
                    row.sequence,
                    row.incarnationBits,
                    row.range.lowerBound - start..<row.range.upperBound - start,
                    nameByteCount: row.nameByteCount
                )
            }
            rows.removeAll(keepingCapacity: true)
            start = reader.offset
        }
        return table
    }

    private static func deletion(
        from reader: inout WireReader
    ) throws(WireFormError) -> (name: Range<Int>, type: Range<Int>) {
        let nameByteCount = Int(try reader.word32())
        let typeByteCount = Int(try reader.word32())
        // A row stores this length in 16 bits.
        guard 1...Int(UInt16.max) ~= nameByteCount else {
            throw WireFormError("a name has 1 to 65535 bytes", at: reader.offset - 8)
        }
        return (try reader.text(nameByteCount), try reader.text(typeByteCount))
    }

    private static func lines(
        _ count: Int,
        _ zone: ZoneID,
        from reader: inout WireReader
    ) throws(WireFormError) -> [RecordChange] {
        var lines: [RecordChange] = []
        lines.reserveCapacity(count)
        for _ in 0..<count {
            let kind = try reader.flags(deleted)
            let tag = try reader.tag()
            if kind == changed {
                let body = try reader.body()
                lines.append(.changed(Record(zone: zone, changeTag: tag, body: body)))
                continue
            }
            let (name, type) = try deletion(from: &reader)
            lines.append(
                .deleted(
                    DeletedRecord(
                        recordID: RecordID(
                            recordName: String(decoding: reader.bytes[name], as: UTF8.self),
                            zone: zone
                        ),
                        recordType: String(decoding: reader.bytes[type], as: UTF8.self),
                        changeTag: tag ?? RecordChangeTag("")
                    )
                )
            )
        }
        return lines
    }
}

extension RecordChange {
    fileprivate var zone: ZoneID {
        switch self {
        case .changed(let record): record.zone
        case .deleted(let record): record.recordID.zone
        }
    }
}

extension WireReader {
    fileprivate mutating func limit() throws(WireFormError) -> Int {
        // Any number is accepted here; the service rejects a limit below one.
        Int(truncatingIfNeeded: Int64(bitPattern: try word64()))
    }
}

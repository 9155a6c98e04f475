// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The content of one line of records (Docs/formats/changes.md, "Records").
package enum RecordLine: Hashable, Sendable {
    /// An existing record, or a record to save.
    case record(RecordText)
    /// A deleted record, or a record to delete.
    case deleted(RecordText)
    /// The end of a delta: the line has no record.
    case end
}

/// A reader of records from the lines that the command line prints.
///
/// So printed records can be edited and saved.
package struct RecordLineReader: Sendable {
    private var builder = FieldsBuilder()

    /// Creates a reader for any line.
    package init() {}

    /// Reads one line.
    ///
    /// O(bytes). The error names the cause and the byte of the line.
    package mutating func read(_ line: some Collection<UInt8>) throws(JSONError) -> RecordLine {
        do throws(JSONError) {
            return try line.readJSON { (reader) throws(JSONError) in try readLine(from: &reader) }
        } catch {
            // A line that fails leaves fields in the builder, which the next line must not get.
            builder.removeAll()
            throw error
        }
    }

    /// Reads a line of any of the forms, which its first member determines.
    private mutating func readLine(from reader: inout JSONReader) throws(JSONError) -> RecordLine {
        // A copy reads the first member, because a plain record is then read from its start.
        var ahead = reader
        var object = try ahead.openObject()
        guard let key = try ahead.nextKey(of: &object) else {
            throw JSONError("A record needs a \"recordName\".", at: reader.offset)
        }
        let line: RecordLine
        if ahead.isWord(key, "changed") || ahead.isWord(key, "saved") {
            line = .record(try readRecord(from: &ahead))
        } else if ahead.isWord(key, "deleted") {
            line = .deleted(try readRecord(from: &ahead))
        } else if ahead.isWord(key, "token") {
            try reader.skip()
            return .end
        } else {
            return .record(try readRecord(from: &reader))
        }
        if let more = try ahead.nextKey(of: &object) {
            throw ahead.unknownMember(more, ahead.copy(key))
        }
        reader = ahead
        return line
    }

    private mutating func readRecord(from reader: inout JSONReader) throws(JSONError) -> RecordText
    {
        reader.skipSpace()
        var parts = RecordText(start: reader.offset)
        var members = MemberNames()
        var object = try reader.openObject()
        while let key = try reader.nextKey(of: &object) {
            if try members.take(0, "zone", key, in: reader) {
                parts.zone = ZoneID(
                    zoneName: try reader.string(),
                    // The two members that name a zone come in any order, so each keeps the other's
                    // part.
                    ownerName: parts.zone.ownerName
                )
            } else if try members.take(1, "recordName", key, in: reader) {
                parts.recordName = try reader.string()
            } else if try members.take(2, "recordType", key, in: reader) {
                parts.recordType = try reader.string()
            } else if try members.take(3, "recordChangeTag", key, in: reader) {
                parts.changeTag = RecordChangeTag(try reader.string())
            } else if try members.take(4, "created", key, in: reader) {
                // The store sets both authorships itself. They are allowed, so that a printed
                // record can be saved.
                try reader.skip()
            } else if try members.take(5, "modified", key, in: reader) {
                try reader.skip()
            } else if try members.take(6, "parent", key, in: reader) {
                if try reader.peek() == .null {
                    try reader.null()
                    parts.parent = .removed
                } else {
                    parts.parent = .set(Name(try reader.string()))
                }
            } else if try members.take(7, "fields", key, in: reader) {
                let start = reader.offset
                parts.fields = try builder.fields(from: &reader, removesByNull: true, at: start)
            } else if try members.take(8, "zoneOwner", key, in: reader) {
                parts.zone = ZoneID(
                    zoneName: parts.zone.zoneName,
                    ownerName: try reader.string()
                )
            } else {
                throw reader.unknownMember(
                    key,
                    "zone, zoneOwner, recordName, recordType, recordChangeTag, created, modified, parent, fields"
                )
            }
        }
        guard !parts.recordName.isEmpty else {
            throw JSONError("A record needs a \"recordName\".", at: parts.start)
        }
        return parts
    }
}

/// The members of a record's object.
package struct RecordText: Hashable, Sendable {
    /// The offset of the record in its line.
    fileprivate var start: Int
    fileprivate var zone = ZoneID.default
    fileprivate var recordName = ""
    fileprivate var recordType: String?
    fileprivate var changeTag: RecordChangeTag?
    fileprivate var parent = ParentChange.unchanged
    fileprivate var fields: Fields?

    fileprivate init(start: Int) {
        self.start = start
    }

    private var recordID: RecordID { RecordID(recordName: recordName, zone: zone) }

    /// The deletion of the record, in the version that the line names if it names one.
    package var deletion: RecordDeletion { RecordDeletion(recordID, changeTag: changeTag) }

    /// Returns a save of the record of the line.
    ///
    /// The parent is `unchanged` if the line does not name it. Throws for a line without the
    /// record's type or fields.
    package func save(_ policy: SavePolicy) throws(JSONError) -> RecordSave {
        guard let recordType, let fields else {
            throw JSONError("A record to save needs a \"recordType\" and \"fields\".", at: start)
        }
        return RecordSave(
            recordID,
            type: recordType,
            fields: fields,
            parent: parent,
            changeTag: changeTag,
            policy: policy
        )
    }
}

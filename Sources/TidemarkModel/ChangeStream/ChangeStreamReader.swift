// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// A reader of the lines of a change stream.
///
/// Use one reader for all lines of a stream: it keeps its buffers, and the last zone and type.
package struct ChangeStreamReader: Sendable {
    private var builder = FieldsBuilder()
    private var lastZone = ZoneID.default
    private var lastType = Name("")

    /// Creates a reader at the start of a stream.
    package init() {}

    /// Reads one line.
    ///
    /// O(bytes). The error names the cause and the byte of the line; the caller knows the line
    /// number.
    package mutating func read(
        _ line: some Collection<UInt8>
    ) throws(JSONError) -> ChangeStreamLine {
        do throws(JSONError) {
            return try line.readJSON { (reader) throws(JSONError) in try readLine(from: &reader) }
        } catch {
            // A line that fails leaves fields in the builder, which the next line must not get.
            builder.removeAll()
            throw error
        }
    }

    private mutating func readLine(
        from reader: inout JSONReader
    ) throws(JSONError) -> ChangeStreamLine {
        var time: Int64?
        var user: String?
        var device: String?
        var build: String?
        var requestID: String?
        var changes: [ChangeStreamLine.Change]?
        var place = DatabasePlace()
        var members = MemberNames()
        var object = try reader.openObject()
        while let key = try reader.nextKey(of: &object) {
            if try members.take(0, "time", key, in: reader) {
                time = try reader.time()
            } else if try members.take(1, "user", key, in: reader) {
                user = try reader.nonEmptyString("user")
            } else if try members.take(2, "device", key, in: reader) {
                device = try reader.nonEmptyString("device")
            } else if try members.take(3, "build", key, in: reader) {
                build = try reader.nonEmptyString("build")
            } else if try members.take(4, "request", key, in: reader) {
                requestID = try reader.nonEmptyString("request")
            } else if try members.take(5, "changes", key, in: reader) {
                changes = try readChanges(from: &reader)
            } else if try !place.read(key, &members, from: &reader) {
                throw reader.unknownMember(
                    key,
                    "time, user, device, build, request, changes, container, environment, "
                        + "database, owner"
                )
            }
        }
        guard let time else { throw JSONError("A line needs a \"time\".", at: 0) }
        guard let user else { throw JSONError("A line needs a \"user\".", at: 0) }
        guard let changes else { throw JSONError("A line needs \"changes\".", at: 0) }
        return ChangeStreamLine(
            time: time,
            user: UserID(user),
            device: device,
            build: build,
            requestID: requestID,
            database: place.database,
            changes: changes
        )
    }

    private mutating func readChanges(
        from reader: inout JSONReader
    ) throws(JSONError) -> [ChangeStreamLine.Change] {
        var changes: [ChangeStreamLine.Change] = []
        var array = try reader.openArray()
        while try reader.nextElement(of: &array) {
            do throws(JSONError) {
                changes.append(try readChange(from: &reader))
            } catch {
                throw JSONError("changes[\(changes.count)]: \(error.message)", at: error.offset)
            }
        }
        return changes
    }

    /// The members of a change.
    private struct ChangeMembers {
        var operation: JSONText?
        var zone: JSONText?
        var recordName: JSONText?
        var recordType: JSONText?
        var parent: Name?
        var reason: ZoneDeletionReason?
        var fields: Fields?
    }

    /// Reads a change, whose members come in any order.
    private mutating func readChange(
        from reader: inout JSONReader
    ) throws(JSONError) -> ChangeStreamLine.Change {
        reader.skipSpace()
        let start = reader.offset
        var parts = ChangeMembers()
        var members = MemberNames()
        var object = try reader.openObject()
        while let key = try reader.nextKey(of: &object) {
            if try members.take(0, "op", key, in: reader) {
                // Texts stay places in the line until all members are read: `op` may be the last
                // member, and it decides which others are needed.
                parts.operation = try reader.text()
            } else if try members.take(1, "zone", key, in: reader) {
                parts.zone = try reader.text()
            } else if try members.take(2, "recordName", key, in: reader) {
                parts.recordName = try reader.text()
            } else if try members.take(3, "recordType", key, in: reader) {
                parts.recordType = try reader.text()
            } else if try members.take(4, "fields", key, in: reader) {
                parts.fields = try builder.fields(from: &reader, at: start)
            } else if try members.take(5, "parent", key, in: reader) {
                parts.parent = Name(try reader.nonEmptyString("parent"))
            } else if try members.take(6, "reason", key, in: reader) {
                parts.reason = try readReason(from: &reader)
            } else {
                throw reader.unknownMember(
                    key,
                    "op, zone, recordName, recordType, parent, fields, reason"
                )
            }
        }
        return try change(of: parts, in: reader, at: start)
    }

    /// Returns the change that the members describe.
    private mutating func change(
        of members: ChangeMembers,
        in reader: JSONReader,
        at start: Int
    ) throws(JSONError) -> ChangeStreamLine.Change {
        guard let operation = members.operation else {
            throw JSONError("A change needs an \"op\".", at: start)
        }
        guard let zone = members.zone else {
            throw JSONError("A change needs a \"zone\".", at: start)
        }
        // A member that its op does not use is refused: its value would be lost unnoticed.
        guard members.reason == nil || reader.isWord(operation, "deleteZone") else {
            throw JSONError("Only a deleteZone has a \"reason\".", at: start)
        }
        let zoneID = self.zone(zone, in: reader)
        if reader.isWord(operation, "save") {
            guard let recordName = members.recordName, let recordType = members.recordType,
                let fields = members.fields
            else {
                throw JSONError(
                    "A save needs a \"recordName\", a \"recordType\" and \"fields\".",
                    at: start
                )
            }
            return .save(
                recordID: RecordID(recordName: reader.copy(recordName), zone: zoneID),
                recordType: type(recordType, in: reader),
                fields: fields,
                parent: members.parent
            )
        }
        guard members.recordType == nil, members.fields == nil, members.parent == nil else {
            throw JSONError(
                "Only a save has a \"recordType\", a \"parent\" and \"fields\".",
                at: start
            )
        }
        if reader.isWord(operation, "delete") {
            guard let recordName = members.recordName else {
                throw JSONError("A delete needs a \"recordName\".", at: start)
            }
            return .delete(RecordID(recordName: reader.copy(recordName), zone: zoneID))
        }
        guard members.recordName == nil else {
            throw JSONError("Only a save and a delete have a \"recordName\".", at: start)
        }
        if reader.isWord(operation, "createZone") { return .createZone(zoneID) }
        if reader.isWord(operation, "deleteZone") {
            return .deleteZone(zoneID, reason: members.reason ?? .deleted)
        }
        throw JSONError(
            "There is no op \"\(reader.copy(operation))\"; the ops are save, delete, createZone, "
                + "deleteZone.",
            at: start
        )
    }

    private func readReason(
        from reader: inout JSONReader
    ) throws(JSONError) -> ZoneDeletionReason {
        reader.skipSpace()
        let start = reader.offset
        let name = try reader.string()
        guard let reason = ZoneDeletionReason.allCases.first(where: { $0.streamName == name })
        else {
            throw JSONError(
                "There is no reason \"\(name)\"; the reasons are deleted, purged, "
                    + "encryptedDataReset.",
                at: start
            )
        }
        return reason
    }

    /// Returns the zone with a name; reuses the zone of the previous change if the name is the
    /// same.
    private mutating func zone(_ text: JSONText, in reader: JSONReader) -> ZoneID {
        // A change in the zone of the change before it shares that zone's strings.
        if !reader.isName(text, lastZone.name) {
            lastZone = ZoneID(zoneName: reader.copy(text))
        }
        return lastZone
    }

    private mutating func type(_ text: JSONText, in reader: JSONReader) -> Name {
        if !reader.isName(text, lastType) { lastType = Name(reader.copy(text)) }
        return lastType
    }
}

/// The members of a line that identify its database.
private struct DatabasePlace {
    private var container = DatabaseID.standard.container
    private var environment = DatabaseID.standard.environment
    private var scope = DatabaseID.standard.scope
    private var owner = DatabaseID.standard.owner

    var database: DatabaseID {
        DatabaseID(container: container, environment: environment, scope: scope, owner: owner)
    }

    /// Reads a member if it is one of these; otherwise reads nothing and returns `false`.
    mutating func read(
        _ key: JSONText,
        _ members: inout MemberNames,
        from reader: inout JSONReader
    ) throws(JSONError) -> Bool {
        // The numbers continue those of `readLine`: one set detects duplicates among all members.
        if try members.take(6, "container", key, in: reader) {
            container = ContainerID(try reader.nonEmptyString("container"))
        } else if try members.take(7, "environment", key, in: reader) {
            let name = try reader.string()
            guard let known = Environment(rawValue: name) else {
                throw JSONError(
                    "There is no environment \"\(name)\"; the environments are development, "
                        + "production.",
                    at: key.range.lowerBound
                )
            }
            environment = known
        } else if try members.take(8, "database", key, in: reader) {
            let name = try reader.string()
            guard let known = DatabaseScope(name: name), known != .shared else {
                throw JSONError(
                    "There is no database \"\(name)\" that holds records; the databases are "
                        + "public, private.",
                    at: key.range.lowerBound
                )
            }
            scope = known
        } else if try members.take(9, "owner", key, in: reader) {
            owner = UserID(try reader.nonEmptyString("owner"))
        } else {
            return false
        }
        return true
    }
}

extension JSONReader {
    /// Returns a time of the years 0 to 9999: all that can be written as a date, and no time in
    /// microseconds.
    fileprivate mutating func time() throws(JSONError) -> Int64 {
        skipSpace()
        let start = offset
        let time = try int64()
        // The bounds are the first millisecond of the year 0 and the last of the year 9999.
        guard (-62_167_219_200_000...253_402_300_799_999).contains(time) else {
            throw JSONError(
                "The time \(time) is beyond the years 0 to 9999; write milliseconds since 1970.",
                at: start
            )
        }
        return time
    }

    fileprivate mutating func nonEmptyString(_ member: String) throws(JSONError) -> String {
        skipSpace()
        let start = offset
        let text = try string()
        guard !text.isEmpty else {
            throw JSONError("\"\(member)\" is empty; name it, or leave it out.", at: start)
        }
        return text
    }

    fileprivate func isName(_ text: JSONText, _ name: Name) -> Bool {
        // A text with escapes counts as another name and is copied. That costs only time.
        guard !text.hasEscapes, text.range.count == name.byteCount else { return false }
        return name.withBytes { bytes[text.range].elementsEqual($0) }
    }
}

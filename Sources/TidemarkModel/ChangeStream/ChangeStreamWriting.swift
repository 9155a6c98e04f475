// Tidemark
// SPDX-License-Identifier: Apache-2.0

extension [UInt8] {
    /// Appends a line of a change stream, with its line feed.
    ///
    /// Members with their default value are omitted.
    package mutating func append(json line: ChangeStreamLine) {
        append(literal: "{\"time\":")
        append(jsonNumber: line.time)
        append(literal: ",\"user\":")
        append(jsonString: line.user.userRecordName)
        append(member: ",\"device\":", line.device, unless: nil)
        append(member: ",\"build\":", line.build, unless: nil)
        append(member: ",\"request\":", line.requestID, unless: nil)
        let database = line.database
        let standard = DatabaseID.standard
        append(
            member: ",\"container\":",
            database.container.identifier,
            unless: standard.container.identifier
        )
        append(
            member: ",\"environment\":",
            database.environment.rawValue,
            unless: standard.environment.rawValue
        )
        append(member: ",\"database\":", database.scope.name, unless: standard.scope.name)
        append(
            member: ",\"owner\":",
            database.owner.userRecordName,
            unless: standard.owner.userRecordName
        )
        append(literal: ",\"changes\":[")
        for (index, change) in line.changes.enumerated() {
            if index > 0 { append(UInt8(ascii: ",")) }
            append(json: change)
        }
        append(literal: "]}\n")
    }

    private mutating func append(member: StaticString, _ text: String?, unless standard: String?) {
        guard let text, standard.map({ Name(text) != Name($0) }) ?? true else { return }
        append(literal: member)
        append(jsonString: text)
    }

    private mutating func append(json change: ChangeStreamLine.Change) {
        switch change {
        case .save(let recordID, let recordType, let fields, let parent):
            append(literal: "{\"op\":\"save\",\"zone\":")
            append(jsonString: recordID.zone.zoneName)
            append(literal: ",\"recordName\":")
            append(jsonString: recordID.recordName)
            append(literal: ",\"recordType\":")
            append(jsonString: recordType.string)
            append(member: ",\"parent\":", parent?.string, unless: nil)
            append(literal: ",\"fields\":")
            append(json: fields)
        case .delete(let recordID):
            append(literal: "{\"op\":\"delete\",\"zone\":")
            append(jsonString: recordID.zone.zoneName)
            append(literal: ",\"recordName\":")
            append(jsonString: recordID.recordName)
        case .createZone(let zone):
            append(literal: "{\"op\":\"createZone\",\"zone\":")
            append(jsonString: zone.zoneName)
        case .deleteZone(let zone, let reason):
            append(literal: "{\"op\":\"deleteZone\",\"zone\":")
            append(jsonString: zone.zoneName)
            append(member: ",\"reason\":", reason.streamName, unless: "deleted")
        }
        append(literal: "}")
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

extension [UInt8] {
    /// Appends a record as the object of one line.
    ///
    /// Its members are `zone`, `zoneOwner` if it is not the caller, `recordName`, `recordType`,
    /// `recordChangeTag`, `created`, `modified`, `parent` if it has one, and `fields`.
    package mutating func append(json record: Record) {
        append(zone: record.zone)
        append(literal: ",\"recordName\":")
        record.body.recordNameBytes.withUnsafeBufferPointer { append(jsonUTF8: $0) }
        append(literal: ",\"recordType\":")
        record.body.recordTypeBytes.withUnsafeBufferPointer { append(jsonUTF8: $0) }
        if let tag = record.changeTag {
            append(literal: ",\"recordChangeTag\":")
            append(jsonString: tag.text)
        }
        append(literal: ",\"created\":")
        append(json: record.created)
        append(literal: ",\"modified\":")
        append(json: record.modified)
        if let parent = record.body.parentName {
            append(literal: ",\"parent\":")
            append(jsonString: parent)
        }
        append(literal: ",\"fields\":")
        append(json: record.fields)
        append(literal: "}")
    }

    /// Appends a deletion in the form of a delta: `zone`, `recordName`, `recordType`.
    package mutating func append(json deletion: DeletedRecord) {
        append(zone: deletion.recordID.zone)
        append(literal: ",\"recordName\":")
        append(jsonString: deletion.recordID.recordName)
        append(literal: ",\"recordType\":")
        append(jsonString: deletion.recordType)
        append(literal: "}")
    }

    /// Begins an object with a zone, and its owner if it is not the caller.
    private mutating func append(zone: ZoneID) {
        append(literal: "{\"zone\":")
        append(jsonString: zone.zoneName)
        guard zone.ownerName != ZoneID.currentOwner else { return }
        append(literal: ",\"zoneOwner\":")
        append(jsonString: zone.ownerName)
    }

    private mutating func append(json authorship: Authorship) {
        append(literal: "{\"timestamp\":")
        append(jsonNumber: authorship.time)
        if let user = authorship.user {
            append(literal: ",\"userRecordName\":")
            append(jsonString: user.userRecordName)
        }
        if let device = authorship.device {
            append(literal: ",\"deviceID\":")
            append(jsonString: device)
        }
        append(literal: "}")
    }
}

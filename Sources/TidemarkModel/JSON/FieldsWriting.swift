// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// Writing fields and records (Docs/formats/changes.md, "Fields" and "Records").
extension [UInt8] {
    /// Appends fields as an object, in the order of their names' bytes, without removals.
    package mutating func append(json fields: Fields) {
        append(UInt8(ascii: "{"))
        var isFirst = true
        for field in fields where !field.isRemoved {
            if !isFirst { append(UInt8(ascii: ",")) }
            isFirst = false
            field.nameBytes.withUnsafeBufferPointer { append(jsonUTF8: $0) }
            append(UInt8(ascii: ":"))
            append(json: field)
        }
        append(UInt8(ascii: "}"))
    }

    /// Appends a field's value, with its type if the value does not imply it.
    package mutating func append(json field: Fields.Element) {
        // Of a value that cannot be stored, or of a type that this version does not know.
        guard let type = field.type else {
            append(literal: "null")
            return
        }
        if type == .string, !field.isEncrypted {
            field.valueBytes.withUnsafeBufferPointer { append(jsonUTF8: $0) }
            return
        }
        // The values of a stored body are not checked. One that does not match its type is absent
        // (Docs/formats/record.md, "Validity").
        guard let value = field.value else {
            append(literal: "null")
            return
        }
        if value.isPlainInJSON, !field.isEncrypted {
            append(json: value)
            return
        }
        append(literal: "{\"value\":")
        append(json: value)
        append(literal: ",\"type\":\"")
        append(contentsOf: type.webName.utf8)
        append(literal: "\"")
        if field.isEncrypted { append(literal: ",\"isEncrypted\":true") }
        append(literal: "}")
    }

    /// Appends a value in the form of CloudKit Web Services, without its type.
    package mutating func append(json value: FieldValue) {
        switch value {
        case .string(let text): append(jsonString: text)
        case .int64(let number), .timestamp(let number): append(jsonNumber: number)
        case .double(let number): append(jsonNumber: number)
        case .bytes(let content): append(jsonBase64: content)
        case .location(let place): append(json: place)
        case .reference(let link): append(json: link)
        case .asset(let blob): append(json: blob)
        case .stringList(let texts): append(jsonList: texts) { $0.append(jsonString: $1) }
        case .int64List(let numbers), .timestampList(let numbers):
            append(jsonList: numbers) { $0.append(jsonNumber: $1) }
        case .doubleList(let numbers): append(jsonList: numbers) { $0.append(jsonNumber: $1) }
        case .bytesList(let contents): append(jsonList: contents) { $0.append(jsonBase64: $1) }
        case .locationList(let places): append(jsonList: places) { $0.append(json: $1) }
        case .referenceList(let links): append(jsonList: links) { $0.append(json: $1) }
        case .assetList(let blobs): append(jsonList: blobs) { $0.append(json: $1) }
        }
    }

    private mutating func append(json place: Location) {
        append(literal: "{")
        append(member: "latitude", jsonNumber: place.latitude)
        append(member: "longitude", jsonNumber: place.longitude)
        append(member: "horizontalAccuracy", jsonNumber: place.horizontalAccuracy)
        append(member: "verticalAccuracy", jsonNumber: place.verticalAccuracy)
        append(member: "altitude", jsonNumber: place.altitude)
        append(member: "speed", jsonNumber: place.speed)
        append(member: "course", jsonNumber: place.course)
        append(member: "timestamp", jsonNumber: place.timestamp)
        append(literal: "}")
    }

    private mutating func append(json link: Reference) {
        append(literal: "{\"recordName\":")
        append(jsonString: link.recordName)
        if let zone = link.zone {
            append(literal: ",\"zoneID\":{\"zoneName\":")
            append(jsonString: zone.zoneName)
            append(literal: ",\"ownerRecordName\":")
            append(jsonString: zone.ownerName)
            append(literal: "}")
        }
        // A writer writes the action NONE too (Docs/formats/changes.md, "Fields").
        append(literal: ",\"action\":\"")
        append(contentsOf: link.action.webName.utf8)
        append(literal: "\"}")
    }

    private mutating func append(json blob: AssetReference) {
        append(literal: "{\"fileChecksum\":")
        append(jsonBase64: blob.checksum)
        append(literal: ",\"size\":")
        append(jsonNumber: blob.byteCount)
        if let opaque = blob.referenceChecksum {
            append(literal: ",\"referenceChecksum\":")
            append(jsonBase64: opaque)
        }
        if let opaque = blob.wrappingKey {
            append(literal: ",\"wrappingKey\":")
            append(jsonBase64: opaque)
        }
        append(literal: "}")
    }
}

extension FieldValue {
    /// True if the JSON value implies the field's type, so that no type is written.
    fileprivate var isPlainInJSON: Bool {
        switch self {
        case .string, .int64: true
        case .stringList(let texts): !texts.isEmpty
        case .int64List(let numbers): !numbers.isEmpty
        default: false
        }
    }
}

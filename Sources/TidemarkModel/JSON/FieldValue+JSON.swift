// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// Reading a field's value in the form of CloudKit Web Services.
extension JSONReader {
    /// Reads a 64-bit integer; the error for any other number contains the remedy for its context.
    package mutating func int64(
        _ form: WholeNumberForm = .number
    ) throws(JSONError) -> Int64 {
        if webForm != nil {
            // Apple's reference lists true and false among the values; stored, they are integers.
            switch try peek() {
            case .string: return try int64AsText()
            case .boolean: return try boolean() ? 1 : 0
            default: break
            }
        }
        let number = try number()
        if let value = number.int64 { return value }
        let lexeme = lexeme(number)
        throw number.isWhole
            ? JSONError("\(lexeme) is an integer beyond 64 bits.", at: number.range.lowerBound)
            : JSONError(
                "\(lexeme) is not a whole number; \(form.remedy(lexeme)).",
                at: number.range.lowerBound
            )
    }

    /// The context of an integer in JSON.
    package enum WholeNumberForm {
        /// A place that only takes an integer.
        case number
        /// The value of a field, whose form determines the field's type.
        case field
        /// In a list, whose type it shows.
        case list

        fileprivate func remedy(_ lexeme: String) -> String {
            switch self {
            case .number: "write it without fraction and exponent"
            case .field:
                "write {\"value\": \(lexeme), \"type\": \"DOUBLE\"} for a floating-point number"
            case .list:
                "write {\"value\": […], \"type\": \"DOUBLE_LIST\"} for floating-point numbers"
            }
        }
    }

    /// Reads an integer that is written as a string, for `numbersAsStrings`.
    private mutating func int64AsText() throws(JSONError) -> Int64 {
        let start = offset
        let text = try string()
        guard text.isNumberOfJSON, let value = Int64(text) else {
            throw JSONError("The string is not a whole number of 64 bits.", at: start)
        }
        return value
    }

    /// Reads a finite number.
    package mutating func finiteDouble() throws(JSONError) -> Double {
        if webForm != nil, try peek() == .string {
            let start = offset
            let text = try string()
            guard text.isNumberOfJSON, let value = Double(text), value.isFinite else {
                throw JSONError("The string is not a finite number.", at: start)
            }
            return value
        }
        let number = try number()
        guard let value = double(number) else {
            throw JSONError(
                "\(lexeme(number)) is beyond what a DOUBLE holds.",
                at: number.range.lowerBound
            )
        }
        return value
    }

    /// Reads a string of base64.
    mutating func base64() throws(JSONError) -> [UInt8] {
        skipSpace()
        let start = offset
        let text = try text()
        var digits: [UInt8] = []
        append(text, to: &digits)
        var decoded: [UInt8] = []
        guard Base64.decode(digits, .standard, into: &decoded) else {
            throw JSONError("The string is not base64 (RFC 4648, with padding).", at: start)
        }
        return decoded
    }

    /// Reads a list whose type is plain to see: not empty, and all strings or all whole numbers.
    mutating func plainList() throws(JSONError) -> FieldValue {
        skipSpace()
        let start = offset
        // A copy of the reader looks at the elements. Nothing is consumed before the type is known.
        var ahead = self
        var array = try ahead.openArray()
        guard try ahead.nextElement(of: &array) else {
            throw JSONError(
                "An empty list has no type; write {\"value\": [], \"type\": \"STRING_LIST\"} or "
                    + "another list type.",
                at: start
            )
        }
        let kind = try ahead.peek()
        while true {
            guard try ahead.peek() == kind else {
                throw JSONError(
                    "A list holds values of one type; this one mixes types.",
                    at: ahead.offset
                )
            }
            try ahead.skip()
            guard try ahead.nextElement(of: &array) else { break }
        }
        switch kind {
        case .string: return try value(of: .stringList)
        case .number:
            return .int64List(try list { (it) throws(JSONError) in try it.int64(.list) })
        case .object, .array, .boolean, .null:
            throw JSONError(
                "A list without a type must hold strings or whole numbers; write {\"value\": […], "
                    + "\"type\": …}.",
                at: start
            )
        }
    }

    /// Reads a value whose type is known.
    mutating func value(of type: FieldType) throws(JSONError) -> FieldValue {
        switch type {
        case .string: .string(try string())
        case .int64: .int64(try int64())
        case .double: .double(try finiteDouble())
        case .bytes: .bytes(try base64())
        case .timestamp: .timestamp(try int64())
        case .location: .location(try location())
        case .reference: .reference(try reference())
        case .asset: .asset(try asset())
        case .stringList: .stringList(try list { (it) throws(JSONError) in try it.string() })
        case .int64List: .int64List(try list { (it) throws(JSONError) in try it.int64() })
        case .doubleList:
            .doubleList(try list { (it) throws(JSONError) in try it.finiteDouble() })
        case .bytesList: .bytesList(try list { (it) throws(JSONError) in try it.base64() })
        case .timestampList: .timestampList(try list { (it) throws(JSONError) in try it.int64() })
        case .locationList: .locationList(try list { (it) throws(JSONError) in try it.location() })
        case .referenceList:
            .referenceList(try list { (it) throws(JSONError) in try it.reference() })
        case .assetList: .assetList(try list { (it) throws(JSONError) in try it.asset() })
        }
    }

    private mutating func list<Element>(
        _ element: (inout JSONReader) throws(JSONError) -> Element
    ) throws(JSONError) -> [Element] {
        var elements: [Element] = []
        var array = try openArray()
        while try nextElement(of: &array) { elements.append(try element(&self)) }
        return elements
    }

    private mutating func location() throws(JSONError) -> Location {
        skipSpace()
        let start = offset
        // NaN marks a coordinate that was not read: JSON cannot express it.
        var place = Location(latitude: .nan, longitude: .nan)
        var members = MemberNames()
        var object = try openObject()
        while let key = try nextKey(of: &object) {
            if webForm != nil, try peek() == .null {
                try null()
            } else if try members.take(0, "latitude", key, in: self) {
                place.latitude = try finiteDouble()
            } else if try members.take(1, "longitude", key, in: self) {
                place.longitude = try finiteDouble()
            } else if try members.take(2, "horizontalAccuracy", key, in: self) {
                place.horizontalAccuracy = try finiteDouble()
            } else if try members.take(3, "verticalAccuracy", key, in: self) {
                place.verticalAccuracy = try finiteDouble()
            } else if try members.take(4, "altitude", key, in: self) {
                place.altitude = try finiteDouble()
            } else if try members.take(5, "speed", key, in: self) {
                place.speed = try finiteDouble()
            } else if try members.take(6, "course", key, in: self) {
                place.course = try finiteDouble()
            } else if try members.take(7, "timestamp", key, in: self) {
                place.timestamp = try int64()
            } else {
                try passUnknown(
                    key,
                    "latitude, longitude, horizontalAccuracy, verticalAccuracy, altitude, speed, "
                        + "course, timestamp"
                )
            }
        }
        guard !place.latitude.isNaN, !place.longitude.isNaN else {
            throw JSONError("A location needs a latitude and a longitude.", at: start)
        }
        return place
    }

    private mutating func reference() throws(JSONError) -> Reference {
        skipSpace()
        let start = offset
        var recordName: String?
        var zone: ZoneID?
        var action = Reference.Action.none
        var members = MemberNames()
        var object = try openObject()
        while let key = try nextKey(of: &object) {
            if webForm != nil, try peek() == .null {
                try null()
            } else if try members.take(0, "recordName", key, in: self) {
                recordName = try string()
            } else if try members.take(1, "zoneID", key, in: self) {
                zone = try zoneID()
            } else if try members.take(2, "action", key, in: self) {
                let name = Name(try string())
                let actions = Reference.Action.allCases
                guard let known = actions.first(where: { Name($0.webName) == name }) else {
                    throw JSONError(
                        "There is no action \"\(name)\"; the actions are NONE, DELETE_SELF, "
                            + "VALIDATE.",
                        at: start
                    )
                }
                action = known
            } else {
                try passUnknown(key, "recordName, zoneID, action")
            }
        }
        guard let recordName else {
            throw JSONError("A reference needs a recordName.", at: start)
        }
        return Reference(recordName: recordName, zone: zone, action: action)
    }

    package mutating func zoneID() throws(JSONError) -> ZoneID {
        var zoneName = ZoneID.defaultZoneName
        var ownerName = ZoneID.currentOwner
        var members = MemberNames()
        var object = try openObject()
        while let key = try nextKey(of: &object) {
            if webForm != nil, try peek() == .null {
                try null()
            } else if try members.take(0, "zoneName", key, in: self) {
                zoneName = try string()
            } else if try members.take(1, "ownerRecordName", key, in: self) {
                ownerName = try string()
            } else if webForm != nil, try members.take(2, "ownerName", key, in: self) {
                ownerName = try string()
            } else {
                try passUnknown(key, "zoneName, ownerRecordName")
            }
        }
        // A caller may write the own name for `__defaultOwner__` (Docs/semantics.md, "Who asks").
        // Clients of Apple's service also write `_defaultOwner`.
        // As bytes: another user may have a name that looks the same.
        if let webForm, ownerName.hasBytes(of: webForm.callerName) || ownerName == "_defaultOwner" {
            ownerName = ZoneID.currentOwner
        }
        return ZoneID(zoneName: zoneName, ownerName: ownerName)
    }

    private mutating func asset() throws(JSONError) -> AssetReference {
        skipSpace()
        let start = offset
        var checksum: [UInt8]?
        var size: Int64?
        var referenceChecksum: [UInt8]?
        var wrappingKey: [UInt8]?
        var receipt: String?
        var members = MemberNames()
        var object = try openObject()
        while let key = try nextKey(of: &object) {
            if webForm != nil, try peek() == .null {
                try null()
            } else if try members.take(0, "fileChecksum", key, in: self) {
                checksum = try base64()
            } else if try members.take(1, "size", key, in: self) {
                size = try int64()
            } else if try members.take(2, "referenceChecksum", key, in: self) {
                referenceChecksum = try base64()
            } else if try members.take(3, "wrappingKey", key, in: self) {
                wrappingKey = try base64()
            } else if webForm != nil, try members.take(4, "receipt", key, in: self) {
                receipt = try string()
            } else {
                try passUnknown(key, "fileChecksum, size, referenceChecksum, wrappingKey")
            }
        }
        if let webForm {
            return try webForm.asset(receipt, checksum, size, at: start)
        }
        guard let checksum, let size, let byteCount = UInt64(exactly: size) else {
            throw JSONError("An asset needs a fileChecksum, and a size of zero or more.", at: start)
        }
        return AssetReference(
            checksum: checksum,
            byteCount: byteCount,
            referenceChecksum: referenceChecksum,
            wrappingKey: wrappingKey
        )
    }
}

extension String {
    /// True if a text may be a number of JSON: Swift also reads `+5`, `0x10` and names.
    fileprivate var isNumberOfJSON: Bool {
        let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
        return utf8.first != UInt8(ascii: "+")
            && utf8.allSatisfy { digits.contains($0) || "-+.eE".utf8.contains($0) }
    }
}

extension String {
    /// Returns true if another text has the same bytes.
    fileprivate func hasBytes(of other: String?) -> Bool {
        other.map { utf8.elementsEqual($0.utf8) } ?? false
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkModel

/// Writes the answer to one request.
struct WebWriter {
    let host: any WebHost
    let caller: Caller
    let isExtended: Bool
    /// True if whole and floating-point numbers are written as strings.
    var numbersAsStrings = false
    /// The ends of the links of shares, by their root records.
    var links: [RecordID: String] = [:]
    /// The shares of roots that were written without their link, because it is not known.
    private(set) var unknownLinks: Set<RecordID> = []
    private var bytes: [UInt8] = []
    /// The zone that was written last, and its JSON.
    private var lastZone: (zone: ZoneID, json: [UInt8])?
    /// The origin that was written last.
    private var lastOrigin: Origin?

    init(_ services: WebServices, _ request: WebRequest) {
        host = services.host
        caller = request.caller
        isExtended = request.isExtended
    }

    // MARK: Structure

    mutating func literal(_ text: StaticString) { bytes.append(literal: text) }

    mutating func string(_ text: String) { bytes.append(jsonString: text) }

    mutating func number(_ number: some BinaryInteger) { bytes.append(jsonNumber: number) }

    mutating func number(_ number: Int64) { bytes.append(jsonNumber: number) }

    /// Writes a field's value without its type.
    mutating func value(_ value: FieldValue) { bytes.append(json: value) }

    /// Opens an answer of a number of records.
    mutating func openRecords(_ count: Int) {
        // Most records take less. Without this room, the bytes would be moved as they grow.
        bytes.reserveCapacity(count * 768 + 256)
        literal("{\"records\":")
    }

    /// Writes values with commas between.
    mutating func list<Values: Sequence>(
        _ values: Values,
        _ write: (inout WebWriter, Values.Element) -> Void
    ) {
        literal("[")
        var isFirst = true
        for value in values {
            if !isFirst { literal(",") }
            isFirst = false
            write(&self, value)
        }
        literal("]")
    }

    /// Writes a member; nothing for `nil`.
    mutating func member(_ name: StaticString, _ text: String?) {
        bytes.append(member: name, jsonString: text)
    }

    /// Writes a member that is true or false.
    mutating func member(_ name: StaticString, _ truth: Bool) {
        bytes.append(member: name, jsonBool: truth)
    }

    /// The number of bytes that were written.
    var byteCount: Int { bytes.count }

    /// True if no more large values should be written.
    var isFull: Bool { bytes.count >= WebServices.answerByteLimit }

    /// Removes everything after a number of bytes.
    mutating func cut(to byteCount: Int) {
        bytes.removeLast(bytes.count - byteCount)
        unknownLinks = []
    }

    /// The bytes that were written.
    var written: [UInt8] { bytes }

    /// Closes the answer and returns its bytes, which the writer then no longer has.
    ///
    /// Not consuming: that would change a copy of the writer, and so copy the bytes.
    mutating func finished() -> [UInt8] {
        literal("}")
        defer { bytes = [] }
        return bytes
    }

    // MARK: Identities

    /// Returns the name of the zone's owner, in the form for clients.
    func ownerName(of zone: ZoneID) -> String? {
        guard zone.ownerName == ZoneID.currentOwner else { return zone.ownerName }
        return caller.database.scope == .public ? nil : caller.user?.userRecordName
    }

    mutating func zoneID(_ zone: ZoneID) {
        if let last = lastZone, last.zone == zone { return bytes.append(contentsOf: last.json) }
        let start = bytes.count
        defer { lastZone = (zone, Array(bytes[start...])) }
        literal("{\"zoneName\":")
        string(zone.zoneName)
        member("ownerRecordName", ownerName(of: zone))
        literal(",\"zoneType\":\"")
        literal(
            zone.zoneName == ZoneID.defaultZoneName ? "DEFAULT_ZONE" : "REGULAR_CUSTOM_ZONE"
        )
        literal("\"}")
    }

    mutating func zone(_ zone: Zone) {
        literal("{\"zoneID\":")
        zoneID(zone.zoneID)
        if zone.capabilities.contains(.fetchChanges), !zone.zoneID.isDefault {
            let token = host.currentToken(of: zone.zoneID, as: caller)
            member("syncToken", token?.description)
        }
        if zone.capabilities.contains(.atomic) { literal(",\"atomic\":true") }
        literal("}")
    }

    private mutating func authorship(_ authorship: Authorship) {
        literal("{\"timestamp\":")
        number(authorship.time)
        member("userRecordName", authorship.user.map { name(of: $0) })
        member("deviceID", authorship.device)
        literal("}")
    }

    func name(of user: UserID) -> String {
        user == .current ? caller.user?.userRecordName ?? user.userRecordName : user.userRecordName
    }

    // MARK: Errors

    /// Writes a failed item, beginning with its identity.
    mutating func failure(_ error: WebError, _ identity: (inout WebWriter) -> Void) {
        literal("{")
        identity(&self)
        var error = error
        if error.code == "AUTHENTICATION_REQUIRED" { error.redirectURL = host.signInURL() }
        error.appendMembers(to: &bytes)
        member("uuid", UniqueName.make())
        if isExtended, !isFull, let conflict = error.conflict {
            literal(",\"serverRecord\":")
            record(conflict.server)
            if let ancestor = conflict.ancestor {
                literal(",\"ancestorRecord\":")
                record(ancestor)
            }
        }
        literal("}")
    }

    mutating func failure(_ error: WebError, ofRecord name: String) {
        failure(error) {
            $0.literal("\"recordName\":")
            $0.string(name)
        }
    }

    mutating func failure(_ error: WebError, ofZone zone: ZoneID) {
        failure(error) {
            $0.literal("\"zoneID\":")
            $0.zoneID(zone)
        }
    }

    // MARK: Records

    /// Writes a record, with the end of the link of its future share, if it is not shared yet.
    ///
    /// O(bytes).
    mutating func record(_ record: Record, shortGUID: String? = nil) {
        literal("{\"recordName\":")
        text(record.body.recordNameBytes)
        literal(",\"recordType\":")
        text(record.body.recordTypeBytes)
        literal(",\"fields\":")
        fields(of: record)
        literal(",\"pluginFields\":{}")
        if let tag = record.changeTag {
            literal(",\"recordChangeTag\":")
            string(tag.text)
            if isExtended, let sequence = tag.sequence {
                literal(",\"sequence\":")
                number(sequence)
            }
        }
        origin(of: record)
        if let parent = record.body.parentName { parentRecord(parent) }
        if let share = record.share {
            content(of: share, in: record)
        } else if let share = record.shareID {
            // The link is in the share's record, not in the root. `WebServices.write(into:_:_:)`
            // fetches the unknown ones and writes the records again.
            if let token = links[share] { link(token) } else { unknownLinks.insert(share) }
            shareRecord(share.recordName, in: record.zone)
        } else if let shortGUID {
            link(shortGUID)
        }
        literal("}")
    }

    /// The members that records of one zone and one save have in common, as JSON.
    ///
    /// The records of an answer are often of one save. A class, so that reading it copies nothing.
    private final class Origin: Sendable {
        let zone: ZoneID
        let body: RecordBody
        let json: [UInt8]

        init(of record: Record, json: [UInt8]) {
            zone = record.zone
            body = record.body
            self.json = json
        }
    }

    private mutating func origin(of record: Record) {
        if let last = lastOrigin, last.zone == record.zone,
            last.body.hasSameAuthorship(as: record.body)
        {
            return bytes.append(contentsOf: last.json)
        }
        let start = bytes.count
        literal(",\"created\":")
        authorship(record.created)
        literal(",\"modified\":")
        authorship(record.modified)
        literal(",\"deleted\":false,\"zoneID\":")
        zoneID(record.zone)
        lastOrigin = Origin(of: record, json: Array(bytes[start...]))
    }

    private mutating func parentRecord(_ name: String) {
        literal(",\"parent\":{\"recordName\":")
        string(name)
        literal("}")
    }

    private mutating func shareRecord(_ name: String, in zone: ZoneID) {
        literal(",\"share\":{\"recordName\":")
        string(name)
        literal(",\"zoneID\":")
        zoneID(zone)
        literal("}")
    }

    private mutating func text(_ utf8: ArraySlice<UInt8>) {
        utf8.withUnsafeBufferPointer { bytes.append(jsonUTF8: $0) }
    }

    /// The member with the type of a field and the field's end, by the type's raw value.
    private static let typeMembers = makeTypeMembers(end: "}")
    private static let typeMembersOfEncrypted = makeTypeMembers(end: ",\"isEncrypted\":true}")

    private static func makeTypeMembers(end: String) -> [[UInt8]] {
        (0...UInt8.max).map { rawValue in
            let type = FieldType(rawValue: rawValue)
            return type.map { Array(",\"type\":\"\($0.webName)\"\(end)".utf8) } ?? []
        }
    }

    private mutating func fields(of record: Record) {
        bytes.append(UInt8(ascii: "{"))
        let fields = record.fields
        let isShare = record.body.isShare
        var isFirst = true
        fields.forEachLent { field in
            // A share keeps its participants and its link in fields. They are members of their own
            // on the wire.
            if isShare, Share.isOwnField(fields[field.index].nameBytes) { return }
            if !isFirst { bytes.append(UInt8(ascii: ",")) }
            isFirst = false
            bytes.append(jsonUTF8: field.name)
            literal(":{\"value\":")
            if field.type == .string {
                // Straight from the body: no value is made for the most frequent types.
                bytes.append(jsonUTF8: field.value)
            } else if field.type == .timestamp || field.type == .int64 && !numbersAsStrings,
                let number = field.wholeNumber
            {
                bytes.append(jsonNumber: number)
            } else if let value = fields[field.index].value {
                self.value(value, of: fields[field.index], in: record)
            } else {
                literal("null")
            }
            let members = field.isEncrypted ? Self.typeMembersOfEncrypted : Self.typeMembers
            bytes.append(contentsOf: members[Int(field.type.rawValue)])
        }
        bytes.append(UInt8(ascii: "}"))
    }

    private mutating func value(
        _ value: FieldValue,
        of field: Fields.Element,
        in record: Record
    ) {
        switch value {
        // JavaScript holds whole numbers exactly only up to 2^53.
        case .int64(let number) where numbersAsStrings: string(String(number))
        case .double(let number) where numbersAsStrings: string(number.description)
        case .int64List(let numbers) where numbersAsStrings:
            list(numbers) { $0.string(String($1)) }
        case .doubleList(let numbers) where numbersAsStrings:
            list(numbers) { $0.string($1.description) }
        case .asset(let asset): self.asset(asset, field.name, 0, in: record)
        case .assetList(let assets):
            list(assets.enumerated()) { $0.asset($1.element, field.name, $1.offset, in: record) }
        default: bytes.append(json: value)
        }
    }

    private mutating func asset(
        _ asset: AssetReference,
        _ field: String,
        _ element: Int,
        in record: Record
    ) {
        literal("{\"fileChecksum\":")
        bytes.append(jsonBase64: WebFieldForm.shownChecksum(of: asset))
        literal(",\"size\":")
        number(asset.byteCount)
        let request = DownloadAssetRequest(
            record.recordID,
            field: field,
            element: element,
            // The address is for this version: after a later save, it does not lead to another
            // asset.
            changeTag: record.changeTag
        )
        member("downloadURL", host.downloadURL(of: asset, at: request, as: caller))
        literal("}")
    }

    /// Writes the reference to an asset for a save.
    mutating func assetToSave(_ asset: AssetReference, _ target: AssetTarget?) {
        literal("{")
        assetMembers(asset, target)
        literal("}")
    }

    mutating func assetMembers(_ asset: AssetReference, _ target: AssetTarget?) {
        literal("\"fileChecksum\":")
        bytes.append(jsonBase64: WebFieldForm.shownChecksum(of: asset))
        literal(",\"size\":")
        number(asset.byteCount)
        literal(",\"referenceChecksum\":")
        bytes.append(jsonBase64: WebFieldForm.shownChecksum(of: asset))
        literal(",\"wrappingKey\":")
        bytes.append(jsonBase64: asset.checksum.suffix(16))
        member("receipt", host.receipt(for: asset, target, as: caller))
    }

    // MARK: Shares

    private mutating func content(of share: Share, in record: Record) {
        member("publicPermission", share.publicPermission.webName)
        literal(",\"participants\":")
        list(share.participants) { $0.participant($1) }
        if let owner = share.participants.first(where: { $0.role == .owner }) {
            literal(",\"owner\":")
            participant(owner)
        }
        if let user = caller.user, let own = share.participant(user) {
            literal(",\"currentUserParticipant\":")
            participant(own)
        }
        link(share.token)
        shareRecord(record.body.recordName, in: record.zone)
    }

    /// Writes how a share is found by its link.
    private mutating func link(_ token: String) {
        guard !token.isEmpty else { return }
        member("shortGUID", token)
        literal(",\"stableUrl\":{\"routingKey\":\"0\",\"shortTokenHash\":")
        string(token)
        member("protectedFullToken", token)
        member("encryptedPublicSharingKey", "")
        member("displayedHostname", host.shareURL(ofToken: ""))
        literal("}")
    }

    mutating func participant(_ participant: ShareParticipant) {
        literal("{\"participantId\":")
        string(participant.id)
        literal(",\"userIdentity\":{")
        identityMembers(of: participant)
        literal("}")
        member("type", participant.role.webName)
        member("acceptanceStatus", participant.acceptance.webName)
        member("permission", participant.permission.webName)
        literal("}")
    }

    private mutating func identityMembers(of participant: ShareParticipant) {
        let lookup: UserLookup? =
            if !participant.email.isEmpty {
                .email(participant.email)
            } else if !participant.phone.isEmpty {
                .phone(participant.phone)
            } else {
                participant.user.map { .user($0) }
            }
        if let user = participant.user {
            literal("\"userRecordName\":")
            string(name(of: user))
            if lookup != nil { literal(",") }
        }
        if let lookup { lookupInfo(lookup) }
    }

    /// Writes the member with the lookup of a user.
    mutating func lookupInfo(_ lookup: UserLookup) {
        literal("\"lookupInfo\":{\"")
        switch lookup {
        case .email: literal("emailAddress")
        case .phone: literal("phoneNumber")
        case .user: literal("userRecordName")
        }
        literal("\":")
        string(lookup.text)
        literal("}")
    }

    /// Writes the identity of a user.
    mutating func identity(_ identity: UserIdentity) {
        literal("{\"userRecordName\":")
        string(name(of: identity.user))
        literal(",\"nameComponents\":{")
        let parts: [(StaticString, String?)] = [
            ("namePrefix", identity.name.namePrefix), ("givenName", identity.name.givenName),
            ("middleName", identity.name.middleName), ("familyName", identity.name.familyName),
            ("nameSuffix", identity.name.nameSuffix), ("nickname", identity.name.nickname),
        ]
        var isFirst = true
        for case (let name, let part?) in parts {
            literal(isFirst ? "\"" : ",\"")
            isFirst = false
            literal(name)
            literal("\":")
            string(part)
        }
        literal("}")
        if let lookup = identity.lookup {
            literal(",")
            lookupInfo(lookup)
        }
        literal("}")
    }
}

extension RecordChangeTag {
    /// The position in the log of the event that made the version; `nil` for a tag that no store
    /// made.
    fileprivate var sequence: UInt64? {
        // A tag of a store begins with the sequence number in base 36, before a hyphen.
        UInt64(text.prefix { $0 != "-" }, radix: 36)
    }
}

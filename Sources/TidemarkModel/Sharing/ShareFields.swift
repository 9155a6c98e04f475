// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The encoding of a share in the fields of its record, under names that no client can save.
///
/// Participants are lists of the same length, so that each value has its type and is readable.
/// `Docs/formats/events.md` lists the fields.
extension Share {
    private enum Key {
        static let root = "___root"
        static let publicPermission = "___publicPermission"
        static let token = "___token"
        static let allowsAccessRequests = "___allowsAccessRequests"
        static let requesters = "___requesters"
        static let blocked = "___blocked"
        static let participants = "___participants"
        static let users = "___participantUsers"
        static let emails = "___participantEmails"
        static let phones = "___participantPhones"
        static let roles = "___participantRoles"
        static let permissions = "___participantPermissions"
        static let acceptances = "___participantAcceptances"
        static let flags = "___participantFlags"
        static let times = "___participantTimes"
        static let links = "___participantLinks"
    }

    private static let approvedFlag: Int64 = 1
    private static let oneTimeFlag: Int64 = 2

    /// Returns true if a field is one of those that hold the share.
    package static func isOwnField(_ name: ArraySlice<UInt8>) -> Bool {
        name.starts(with: "___".utf8)
    }

    /// Sets the fields that hold the share.
    package func encode(into builder: inout FieldsBuilder) throws(SyncError) {
        try builder.set(Key.root, root.map { .string($0.string) })
        try builder.set(Key.publicPermission, .int64(Int64(publicPermission.rawValue)))
        try builder.set(Key.token, .string(token))
        try builder.set(Key.allowsAccessRequests, .int64(allowsAccessRequests ? 1 : 0))
        try builder.set(Key.requesters, .stringList(requesters.map(\.userRecordName)))
        try builder.set(Key.blocked, .stringList(blocked.map(\.userRecordName)))
        func texts(_ key: String, _ text: (ShareParticipant) -> String) throws(SyncError) {
            try builder.set(key, .stringList(participants.map(text)))
        }
        func numbers(_ key: String, _ number: (ShareParticipant) -> Int64) throws(SyncError) {
            try builder.set(key, .int64List(participants.map(number)))
        }
        try texts(Key.participants) { $0.id }
        // Empty texts keep the place of a participant, so that all lists have one length.
        try texts(Key.users) { $0.user?.userRecordName ?? "" }
        try texts(Key.emails) { $0.email }
        try texts(Key.phones) { $0.phone }
        try texts(Key.links) { $0.linkToken }
        try numbers(Key.roles) { Int64($0.role.rawValue) }
        try numbers(Key.permissions) { Int64($0.permission.rawValue) }
        try numbers(Key.acceptances) { Int64($0.acceptance.rawValue) }
        try numbers(Key.flags) { participant in
            (participant.isApprovedRequester ? Self.approvedFlag : 0)
                + (participant.isOneTime ? Self.oneTimeFlag : 0)
        }
        try builder.set(Key.times, .timestampList(participants.map(\.added)))
    }

    /// Reads the share that a record's fields hold; `nil` if they do not hold one.
    package init?(_ fields: Fields) {
        func texts(_ key: String) -> [String]? {
            if case .stringList(let list)? = fields[key] { list } else { nil }
        }
        func numbers(_ key: String) -> [Int64]? {
            if case .int64List(let list)? = fields[key] { list } else { nil }
        }
        guard case .string(let token)? = fields[Key.token],
            case .int64(let rawPermission)? = fields[Key.publicPermission],
            let publicPermission = SharePermission(rawValue: Int(rawPermission)),
            let ids = texts(Key.participants), let users = texts(Key.users),
            let emails = texts(Key.emails), let phones = texts(Key.phones),
            let links = texts(Key.links), let roles = numbers(Key.roles),
            let permissions = numbers(Key.permissions),
            let acceptances = numbers(Key.acceptances), let flags = numbers(Key.flags),
            case .timestampList(let times)? = fields[Key.times],
            // All lists have one element for each participant. Lists of different lengths would
            // pair the permission of one with the identity of another.
            [users.count, emails.count, phones.count, links.count, roles.count].allSatisfy({
                $0 == ids.count
            }),
            [permissions.count, acceptances.count, flags.count, times.count].allSatisfy({
                $0 == ids.count
            })
        else { return nil }
        var participants: [ShareParticipant] = []
        // A number that no role, permission or state has makes the share unreadable. A guess could
        // grant access.
        for index in ids.indices {
            guard let role = ShareRole(rawValue: Int(roles[index])),
                let permission = SharePermission(rawValue: Int(permissions[index])),
                let acceptance = ShareAcceptance(rawValue: Int(acceptances[index]))
            else { return nil }
            var participant = ShareParticipant(
                id: ids[index],
                user: users[index].isEmpty ? nil : UserID(users[index]),
                email: emails[index],
                phone: phones[index],
                role: role,
                permission: permission,
                isOneTime: flags[index] & Self.oneTimeFlag != 0
            )
            participant.acceptance = acceptance
            participant.isApprovedRequester = flags[index] & Self.approvedFlag != 0
            participant.added = times[index]
            participant.linkToken = links[index]
            participants.append(participant)
        }
        var root: Name?
        if case .string(let name)? = fields[Key.root] { root = Name(name) }
        var allowsAccessRequests = false
        if case .int64(let number)? = fields[Key.allowsAccessRequests] {
            allowsAccessRequests = number != 0
        }
        self.init(
            root: root,
            publicPermission: publicPermission,
            participants: participants,
            allowsAccessRequests: allowsAccessRequests,
            requesters: (texts(Key.requesters) ?? []).map { UserID($0) },
            blocked: (texts(Key.blocked) ?? []).map { UserID($0) },
            token: token
        )
    }

    /// Returns the fields of a share's record that name a user, without the user; none if they do
    /// not.
    ///
    /// A former participant stays a participant, with nothing but the role.
    package static func redactions(
        of fields: Fields,
        without isMeant: (UserLookup) -> Bool
    ) -> [String: FieldValue] {
        func texts(_ key: String) -> [String] {
            if case .stringList(let list)? = fields[key] { list } else { [] }
        }
        let forms: [(key: String, lookup: (String) -> UserLookup)] = [
            (Key.users, { .user(UserID($0)) }), (Key.emails, { .email($0) }),
            (Key.phones, { .phone($0) }),
        ]
        let lists = forms.map { texts($0.key) }
        let meant = lists[0].indices.filter { index in
            zip(forms, lists).contains { form, list in
                index < list.count && !list[index].isEmpty && isMeant(form.lookup(list[index]))
            }
        }
        var values: [String: FieldValue] = [:]
        // The place of a participant stays in all lists, so that the lists keep one length.
        if !meant.isEmpty {
            for (key, list) in zip(forms.map(\.key) + [Key.links], lists + [texts(Key.links)]) {
                var list = list
                for index in meant where index < list.count { list[index] = "" }
                values[key] = .stringList(list)
            }
        }
        for key in [Key.requesters, Key.blocked] {
            let list = texts(key)
            let left = list.filter { !isMeant(.user(UserID($0))) }
            if left.count < list.count { values[key] = .stringList(left) }
        }
        return values
    }

    /// Returns the fields of a share's record: the save's own fields, and those that hold the
    /// share.
    package func fields(beside own: Fields) throws(SyncError) -> Fields {
        var builder = FieldsBuilder()
        // A client that sends a fetched share back sends these fields too. Their content is
        // determined by `Share` only.
        for field in try own.withoutShare() { builder.copy(field) }
        try encode(into: &builder)
        return try builder.finish()
    }
}

extension Fields {
    /// Returns the fields of a share's record without those that hold the share.
    package func withoutShare() throws(SyncError) -> Fields {
        guard contains(where: { Share.isOwnField($0.nameBytes) }) else { return self }
        var builder = FieldsBuilder()
        for field in self where !Share.isOwnField(field.nameBytes) { builder.copy(field) }
        return try builder.finish()
    }
}

extension Record {
    /// The share that a share record describes; `nil` for every other record.
    public var share: Share? { body.isShare ? Share(body.fields) : nil }

    /// The share whose root this record is; `nil` if there is none.
    public var shareID: RecordID? {
        body.shareName.map { RecordID(recordName: $0, zone: zone) }
    }

    /// The record above this one in a tree that is shared as a whole; `nil` if it has none.
    public var parentID: RecordID? {
        body.parentName.map { RecordID(recordName: $0, zone: zone) }
    }
}

extension RecordBody {
    /// True if this is the record of a share.
    package var isShare: Bool { Self.isShare(bytes.span.bytes, from: 0) }

    /// Returns true if the body that a payload has from an offset on is that of a share's record.
    ///
    /// The frame of the body must be sound.
    package static func isShare(_ payload: RawSpan, from offset: Int) -> Bool {
        // Most records have a type of another length.
        payload.word16(at: offset + Text.recordType.lengthOffset) == Share.recordTypeByteCount
            && hasType(Share.typeName, payload.extracting(offset..<payload.byteCount))
    }
}

extension RecordBody {
    /// True if the record may be in a share: it has a parent, or is a share's root or record.
    ///
    /// O(1).
    package var hasToDoWithShares: Bool {
        let span = bytes.span.bytes
        return span.word16(at: Text.parent.lengthOffset) > 0
            || span.word16(at: Text.share.lengthOffset) > 0 || isShare
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkEvents
package import TidemarkModel

/// The changes of a share by a save, as pure functions of the previous share.
package struct ShareUpdates {
    /// The owner of the zone.
    package var owner = UserID.current
    /// The time in milliseconds since 1970.
    package var time: Int64
    /// The limits for the number of participants and the length of names.
    package var limits: Limits
    /// True if a new share must come with its root in one request.
    package var needsRoot: Bool
    /// Returns random bits for unguessable ids and links: an effect of the store's environment, as
    /// in `LogEnvironment`.
    package var random: @Sendable () -> UInt64
    /// The database of the request, whose container has the accounts.
    private let database: DatabaseID
    private let facts: any Facts

    package init(
        time: Int64,
        limits: Limits,
        in database: DatabaseID,
        over facts: any Facts,
        random: @escaping @Sendable () -> UInt64,
        needsRoot: Bool = false
    ) {
        self.time = time
        self.limits = limits
        self.database = database
        self.facts = facts
        self.random = random
        self.needsRoot = needsRoot
    }

    /// 128 random bits as text.
    package static func unguessable(_ random: () -> UInt64) -> String {
        String(random(), radix: 36) + String(random(), radix: 36)
    }

    /// Returns a new share.
    package func created(_ content: ShareContent, named name: RecordID) throws(SyncError) -> Share {
        let isZoneWide = name.recordName == Share.zoneWideName
        guard isZoneWide == (content.root == nil) else {
            throw SyncError(
                .invalidArguments,
                isZoneWide
                    ? "The share \(name) has the name of a share of a whole zone, but names a root "
                        + "record; leave it out."
                    : "The share \(name) names no root record; a share of a whole zone is named "
                        + "\(Share.zoneWideName)."
            )
        }
        var owner = ShareParticipant(
            id: Self.unguessable(random),
            user: self.owner,
            role: .owner,
            permission: .readWrite
        )
        owner.acceptance = .accepted
        owner.added = time
        let empty = Share(
            root: content.root.map { Name($0) },
            publicPermission: content.publicPermission,
            participants: [owner],
            token: content.token ?? Self.unguessable(random)
        )
        return try changed(empty, content, named: name)
    }

    /// Returns a share after a change by a user who may change it.
    package func changed(
        _ old: Share,
        _ content: ShareContent,
        named name: RecordID
    ) throws(SyncError) -> Share {
        if let root = content.root, Name(root) != old.root {
            throw SyncError(
                .invalidArguments,
                "The share \(name) cannot change its root record; end it and share the other one."
            )
        }
        var share = old
        share.publicPermission = content.publicPermission
        share.allowsAccessRequests = content.allowsAccessRequests
        share.blocked = content.blocked ?? old.blocked
        try checkCount(ofBlocked: content.blocked?.count ?? 0, of: name)
        let isOpen = share.publicPermission != .none
        // The list is made anew from the request: a participant whom the client leaves out is
        // removed.
        share.participants = old.participants.filter { $0.role == .owner }
        // Participants by the link stay while the share is open. A client cannot name them (see
        // below), and they get its permission.
        if isOpen {
            for var participant in old.participants where participant.role == .publicUser {
                participant.permission = share.publicPermission
                share.participants.append(participant)
            }
        }
        try checkOwner(among: content.participants, of: name)
        let invitees = content.participants.filter { $0.role != .owner && $0.role != .publicUser }
        // Before they are compared with each other, which takes the square of their number.
        try checkCount(invitees.count, of: name)
        for var asked in invitees {
            // An address that belongs to a user invites that user at once (semantics.md,
            // "Sharing").
            if asked.user == nil { asked.user = try user(of: asked) }
            if asked.user == owner { continue }
            var known = old.participants.first { $0.isSame(as: asked) }
            if known?.role == .owner { continue }
            if known?.role == .publicUser {
                if isOpen { continue }
                // Participants who joined by the link are removed with it, and can be invited like
                // other users.
                known = nil
                asked.id = ""
            }
            if known == nil, isOpen { throw Self.cannotInvite(to: name) }
            // Opening a share to everybody revokes the invitations that were not accepted.
            if let known, isOpen, known.acceptance == .pending { continue }
            let participant = try invited(asked, known, old, name)
            guard !share.participants.contains(where: { $0.isSame(as: participant) }) else {
                throw SyncError(
                    .invalidArguments,
                    "The share \(name) names a participant twice; name each one once."
                )
            }
            share.participants.append(participant)
        }
        try checkCount(share.participants.count, of: name)
        // A requester whom the save does not name stays (semantics.md, "Sharing").
        share.requesters = old.requesters.filter { user in
            content.requesters?.contains(user) ?? true && !share.blocked.contains(user)
                && share.participant(user) == nil
        }
        return share
    }

    /// Rejects a share that blocks more users than may take part: each acceptance and each request for
    /// access writes the list again.
    private func checkCount(ofBlocked count: Int, of name: RecordID) throws(SyncError) {
        guard count > limits.participantsPerShare else { return }
        throw SyncError(
            .limitExceeded,
            "The share \(name) blocks \(count) users; at most \(limits.participantsPerShare) are "
                + "allowed."
        )
    }

    /// Rejects a share with more participants than are allowed.
    private func checkCount(_ count: Int, of name: RecordID) throws(SyncError) {
        guard count <= limits.participantsPerShare else {
            throw SyncError(
                .tooManyParticipants,
                "The share \(name) would have \(count) participants; "
                    + "\(limits.participantsPerShare) are allowed, its owner included."
            )
        }
    }

    /// Rejects a share with another owner, because the user sent as owner would be left out.
    private func checkOwner(
        among participants: [ShareParticipant],
        of name: RecordID
    ) throws(SyncError) {
        for participant in participants where participant.role == .owner {
            guard let user = participant.user, user != owner, user != .current else { continue }
            throw SyncError(
                .invalidArguments,
                "The share \(name) belongs to \(owner.userRecordName), and \(user.userRecordName) "
                    + "cannot be its owner; give this participant another role."
            )
        }
    }

    /// Returns the user with the address of a participant.
    private func user(of asked: ShareParticipant) throws(SyncError) -> UserID? {
        let lookup: UserLookup
        if !asked.email.isEmpty {
            lookup = .email(asked.email)
        } else if !asked.phone.isEmpty {
            lookup = .phone(asked.phone)
        } else {
            return nil
        }
        return try facts.account(of: lookup, in: database)?.account.user
    }

    private func invited(
        _ asked: ShareParticipant,
        _ known: ShareParticipant?,
        _ old: Share,
        _ name: RecordID
    ) throws(SyncError) -> ShareParticipant {
        var participant = known ?? asked
        participant.role = asked.role
        participant.permission = asked.permission
        // The acceptance and the link of a known participant stay: a client must not accept for
        // another user.
        if known != nil { return participant }
        let isUser = asked.user.map { !$0.userRecordName.isEmpty } ?? false
        let isReachable =
            isUser || !asked.email.isEmpty || !asked.phone.isEmpty || asked.isOneTime
        guard isReachable, !asked.id.utf8.contains(UInt8(ascii: "/")),
            asked.id.utf8.count <= limits.nameByteCount
        else {
            throw SyncError(
                .invalidArguments,
                "A participant of the share \(name) is not valid. It needs a user, e-mail address, "
                    + "phone number or one-time link, and an id without a slash of at most "
                    + "\(limits.nameByteCount) bytes."
            )
        }
        for lookup in asked.lookups { try lookup.normalized.check(limits) }
        if asked.id.isEmpty { participant.id = Self.unguessable(random) }
        participant.acceptance = .pending
        participant.added = time
        participant.linkToken = asked.isOneTime ? Self.unguessable(random) : ""
        participant.isApprovedRequester = asked.user.map { old.requesters.contains($0) } ?? false
        return participant
    }

    private static func cannotInvite(to name: RecordID) -> SyncError {
        SyncError(
            .invalidArguments,
            "The share \(name) is open to everyone who has its link, so no one can be invited; set "
                + "its public permission to none first."
        )
    }
}

extension ShareParticipant {
    /// All lookups that the participant was named by.
    fileprivate var lookups: [UserLookup] {
        var lookups: [UserLookup] = []
        if let user, !user.userRecordName.isEmpty { lookups.append(.user(user)) }
        if !email.isEmpty { lookups.append(.email(email)) }
        if !phone.isEmpty { lookups.append(.phone(phone)) }
        return lookups
    }

    /// Returns true if both are the same participant, by id or by address.
    fileprivate func isSame(as other: ShareParticipant) -> Bool {
        if !id.isEmpty, id == other.id { return true }
        if let user, user == other.user { return true }
        func isSame(_ text: String, _ other: String, _ lookup: (String) -> UserLookup) -> Bool {
            if text.isEmpty || other.isEmpty { return false }
            return text == other || lookup(text).normalized == lookup(other).normalized
        }
        return isSame(email, other.email, UserLookup.email)
            || isSame(phone, other.phone, UserLookup.phone)
    }
}

extension Share {
    /// Returns the changes of links and participations after a change of the share, or after its
    /// creation.
    package func consequences(
        after old: Share?,
        of name: Name,
        in zone: ZoneIdentity
    ) throws(SyncError) -> SystemChange {
        var change = SystemChange(zone: .shares)
        let target = ShareLinkTarget(name, in: zone)
        // The link of a share never changes, so it is saved once.
        if old == nil { change.saves.append(try ShareRecords.save(target, as: token)) }
        let links = Set(old?.participants.map(\.linkToken) ?? [])
        for participant in participants
        where !participant.linkToken.isEmpty && !links.contains(participant.linkToken) {
            var own = target
            own.participantID = participant.id
            change.saves.append(try ShareRecords.save(own, as: participant.linkToken))
        }
        // Unchanged participations get no event. A new event would look to deltas as if the
        // participant had just joined.
        for participant in participants where participant != old?.member(participant.id) {
            guard let participation = participation(of: participant, target) else { continue }
            change.saves.append(try ShareRecords.save(participation))
        }
        try end(old?.participants.filter { member($0.id) == nil } ?? [], target, &change)
        return change
    }

    /// Returns the changes of links and participations after the end of the share.
    func consequencesOfEnd(of name: Name, in zone: ZoneIdentity) throws(SyncError) -> SystemChange {
        var change = SystemChange(zone: .shares)
        let target = ShareLinkTarget(name, in: zone)
        change.deletions.append(Name(token))
        try end(participants, target, &change)
        return change
    }

    private func end(
        _ participants: [ShareParticipant],
        _ target: ShareLinkTarget,
        _ change: inout SystemChange
    ) throws(SyncError) {
        for participant in participants {
            if !participant.linkToken.isEmpty {
                change.deletions.append(Name(participant.linkToken))
            }
            guard var participation = participation(of: participant, target) else { continue }
            // The participation is kept. The delta of a former participant needs it to report the
            // records of the share as removed.
            participation.isMember = false
            change.saves.append(try ShareRecords.save(participation))
        }
    }

    private func member(_ id: String) -> ShareParticipant? {
        participants.first { $0.id == id }
    }

    /// Returns a participant's participation in the share; `nil` for the owner, and for
    /// participants who have not accepted.
    private func participation(
        of participant: ShareParticipant,
        _ target: ShareLinkTarget
    ) -> Participation? {
        guard participant.role != .owner, participant.acceptance == .accepted,
            let user = participant.user
        else { return nil }
        return Participation(
            token: token,
            participantID: participant.id,
            user: user,
            owner: target.owner,
            zoneName: target.zoneName,
            shareName: target.shareName,
            role: participant.role,
            permission: participant.permission,
            isMember: true
        )
    }
}

extension ShareLinkTarget {
    /// The share of a name.
    fileprivate init(_ name: Name, in zone: ZoneIdentity) {
        self.init(owner: zone.database.owner, zoneName: zone.zoneName, shareName: name)
    }
}

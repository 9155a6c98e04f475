// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel
import TidemarkRules
import TidemarkViews

extension Engine {
    /// A share as a link leads to it.
    private struct Found {
        var target: ShareLinkTarget
        /// What the store said.
        var picture: ViewPicture
        var zones: ConsultedZones
        var item: ConsultedItem
        var stored: StoredRecord
        var share: Share
        /// The share's record as participants name it.
        var id: RecordID
        var identity: ZoneIdentity { zones[0].identity }
    }

    /// See ``Store/shareMetadata(of:withRootRecord:as:)``.
    func shareMetadata(
        of token: String,
        withRootRecord: Bool,
        as caller: Caller
    ) throws(SyncError) -> ShareMetadata {
        let user = try signedIn(caller)
        let picture = try picture(.visible)
        let found = try find(token, in: caller.database, picture)
        let participant = try participant(user, of: found, by: token)
        var record = try self.record(found.stored, in: found.id.zone)
        if participant.role != .owner { record = record.shown(to: ZoneAccess()) }
        let root = found.share.root.map {
            RecordID(recordName: $0.string, zone: found.id.zone)
        }
        var rootRecord: Record?
        if withRootRecord, let root {
            let slot = views.hash.slot(ofName: root.name)
            let item = ConsultedItem(name: root.name, zone: 0, slot: slot)
            let consulted = try ConsultedItems([item], in: found.zones, picture.facts)
            rootRecord = try consulted.items[0].live.map { (live) throws(SyncError) in
                try self.record(live, in: root.zone)
            }
        }
        return ShareMetadata(
            container: caller.database.container,
            share: record,
            root: root,
            rootRecord: rootRecord,
            owner: found.target.owner,
            role: participant.role,
            acceptance: participant.acceptance,
            permission: participant.permission
        )
    }

    /// See ``Store/acceptShare(_:as:)``.
    func acceptShare(_ token: String, as caller: Caller) async throws(SyncError) -> Record {
        let user = try signedIn(caller)
        return try await changeShare(token, by: .accepting, as: caller) {
            (found) throws(SyncError) in
            var participant = try participant(user, of: found, by: token)
            if participant.acceptance == .accepted { return nil }
            participant.user = user
            participant.acceptance = .accepted
            if participant.added == 0 { participant.added = now() }
            var share = found.share
            if let index = share.participants.firstIndex(where: { $0.id == participant.id }) {
                share.participants[index] = participant
            } else {
                guard share.participants.count < options.limits.participantsPerShare else {
                    throw SyncError(
                        .tooManyParticipants,
                        "The share has \(share.participants.count) participants, which is all that "
                            + "it may have."
                    )
                }
                share.participants.append(participant)
            }
            return share
        }
    }

    /// See ``Store/requestShareAccess(_:as:)``.
    func requestShareAccess(_ token: String, as caller: Caller) async throws(SyncError) {
        let user = try signedIn(caller)
        _ = try await changeShare(token, by: .asking, as: caller) { (found) throws(SyncError) in
            if let participant = found.share.participant(user) {
                if participant.acceptance == .accepted { return nil }
                throw SyncError(
                    .participantAlreadyInvited,
                    "\(user.userRecordName) is invited to the share already."
                )
            }
            guard found.share.allowsAccessRequests, !found.share.blocked.contains(user) else {
                throw .permissionFailure("The share takes no requests of \(user.userRecordName).")
            }
            if found.share.requesters.contains(user) { return nil }
            var share = found.share
            share.requesters.append(user)
            return share
        }
    }

    private func signedIn(_ caller: Caller) throws(SyncError) -> UserID {
        let user = try currentUser(as: caller)
        return user == .current ? caller.participant : user
    }

    /// Looks a link up.
    private func find(
        _ token: String,
        in database: DatabaseID,
        _ picture: ViewPicture
    ) throws(SyncError) -> Found {
        let missing = SyncError(.unknownItem, "There is no share with this link.")
        let name = Name(token)
        // What can be no name of a record leads nowhere either.
        guard (try? options.limits.check(recordName: name)) != nil else { throw missing }
        let link = try picture.facts.record(named: name, of: .shares, in: database)
        guard let link, let target = ShareRecords.link(in: try link.readBody()) else {
            throw missing
        }
        let owned = DatabaseID(
            container: database.container,
            environment: database.environment,
            owner: target.owner
        )
        var zones = ConsultedZones()
        let zone = ZoneID(
            zoneName: target.zoneName.string,
            ownerName: target.owner.userRecordName
        )
        _ = try zones.index(of: zone, in: owned, creating: .none, picture.facts, options.limits)
        if zones[0].key == nil { throw missing }
        let item = ConsultedItem(
            name: target.shareName,
            zone: 0,
            slot: views.hash.slot(ofName: target.shareName)
        )
        let found = try ConsultedItems([item], in: zones, picture.facts).items[0]
        guard let stored = found.live, let share = Share(try stored.readBody().fields) else {
            throw missing
        }
        return Found(
            target: target,
            picture: picture,
            zones: zones,
            item: found,
            stored: stored,
            share: share,
            id: RecordID(recordName: target.shareName.string, zone: zone)
        )
    }

    /// The participant that a user is for a share, or would be by its link.
    private func participant(
        _ user: UserID,
        of found: Found,
        by token: String
    ) throws(SyncError) -> ShareParticipant {
        let share = found.share
        if let known = share.participant(user) { return known }
        if let id = found.target.participantID,
            let invited = share.participants.first(where: { $0.id == id && $0.linkToken == token })
        {
            guard invited.user == nil else {
                throw .permissionFailure("The link was for one person, who has used it.")
            }
            return invited
        }
        if let invited = try participant(user, byAddressIn: found) { return invited }
        if share.publicPermission != .none {
            return ShareParticipant(
                id: ShareRules.unguessable(random),
                user: user,
                role: .publicUser,
                permission: share.publicPermission
            )
        }
        let mayBeMeant = share.participants.contains { participant in
            participant.user == nil && !(participant.email.isEmpty && participant.phone.isEmpty)
        }
        if mayBeMeant {
            throw SyncError(
                .participantMayNeedVerification,
                "Somebody is invited to the share by an address that belongs to no account yet."
            )
        }
        throw .permissionFailure("\(user.userRecordName) is not invited to the share.")
    }

    /// The participant who was invited by an address that has come to be a user's.
    private func participant(
        _ user: UserID,
        byAddressIn found: Found
    ) throws(SyncError) -> ShareParticipant? {
        let open = found.share.participants.filter { $0.user == nil }
        if open.allSatisfy({ $0.email.isEmpty && $0.phone.isEmpty }) { return nil }
        let database = found.identity.database
        let account = try found.picture.facts.account(of: .user(user), in: database)?.account
        let own = Set((account?.addresses ?? []).map { AccountRecords.recordName(of: $0) })
        return open.first { participant in
            !participant.email.isEmpty
                && own.contains(AccountRecords.recordName(of: .email(participant.email)))
                || !participant.phone.isEmpty
                    && own.contains(AccountRecords.recordName(of: .phone(participant.phone)))
        }
    }

    /// What is asked for by a link; the first byte of what was asked, which no other request has.
    private enum Asked: UInt8 {
        case accepting = 17
        case asking = 18
    }

    /// Changes a share's record as its own rules say, and answers with it; `nil` leaves it.
    ///
    /// The request's id is one of the caller's shared database, whichever the call names: that is what
    /// it changes.
    private func changeShare(
        _ token: String,
        by asked: Asked,
        as caller: Caller,
        _ edit: (Found) throws(SyncError) -> Share?
    ) async throws(SyncError) -> Record {
        var asking = caller
        asking.database = caller.database.shared(with: caller.participant)
        let request = identity(of: asking, [asked.rawValue] + Array(token.utf8))
        let committer = try writer().committer
        try await committer.waitForRoom()
        while true {
            let picture = try picture(.appended)
            if let request, let answer = try firstAnswer(to: request, in: picture) {
                try await committer.waitUntilDurable(answer.last)
                return try share(savedAt: answer.last, picture)
            }
            let found = try find(token, in: caller.database, picture)
            guard let share = try edit(found), let key = found.zones.key(of: 0) else {
                try await committer.waitUntilDurable(found.stored.sequence)
                let access = found.share.participant(try signedIn(caller))?.role == .owner
                let record = try record(found.stored, in: found.id.zone)
                return access ? record : record.shown(to: ZoneAccess())
            }
            var plan = try plan(making: share, of: found, in: key, as: caller)
            let last = ItemOutcome.event(plan.eventCount - 1)
            plan.seal(as: caller, request, outcomes: [last])
            guard let placed = try await append(&plan, over: picture, isLimited: false) else {
                continue
            }
            try await committer.waitUntilDurable(placed.last)
            return try self.share(savedAt: placed.last, picture)
        }
    }

    /// The commit that makes a share another one; the save of its record comes last.
    private func plan(
        making share: Share,
        of found: Found,
        in key: UInt64,
        as caller: Caller
    ) throws(SyncError) -> CommitPlan {
        let time = now()
        var plan = CommitPlan(
            time: time,
            received: time,
            bound: found.picture.bound,
            hash: views.hash
        )
        let author = Authorship(time: time, user: caller.user, device: caller.device)
        plan.restsOn(found.item.slot, in: key)
        let change = try share.consequences(
            after: found.share,
            of: found.id.name,
            in: found.identity
        )
        try plan.add(change, of: caller.database, by: author, over: found.picture.facts)
        let audiences = Audiences(found.picture.facts)
        let audience = try audiences.key(ofShare: found.share.token, in: found.identity)
        let place = try audience.map { (audience) throws(SyncError) in
            try audiences.place(of: found.item.slot, in: audience)
        }
        let save = RecordSave(
            found.id,
            type: Share.recordType,
            fields: try share.fields(beside: Fields()),
            policy: .changedKeys
        )
        try plan.save(
            found.item,
            over: found.stored,
            in: key,
            save,
            author,
            audience: place
        )
        return plan
    }

    /// A share's record as an event saved it, as participants see it.
    private func share(
        savedAt position: SequenceNumber,
        _ picture: ViewPicture
    ) throws(SyncError) -> Record {
        let stored = try views.records(at: [position])[0]
        let identity: ZoneIdentity = try SyncError.wrapping { () throws(ViewIndexError) in
            try picture.zone(stored.zone).identity
        }
        let zone = ZoneID(
            zoneName: identity.zoneName.string,
            ownerName: identity.database.owner.userRecordName
        )
        return try record(stored, in: zone).shown(to: ZoneAccess())
    }
}

extension DatabaseID {
    /// What others share with a user, in the same container and environment.
    fileprivate func shared(with user: UserID) -> DatabaseID {
        DatabaseID(container: container, environment: environment, scope: .shared, owner: user)
    }
}

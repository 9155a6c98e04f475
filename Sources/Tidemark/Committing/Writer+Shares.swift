// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel
import TidemarkRules
import TidemarkViews

extension Writer {
    /// See ``Store/acceptShare(_:as:)``.
    func acceptShare(_ token: String, as caller: Caller) async throws(SyncError) -> Record {
        let user = try reader.signedIn(caller)
        return try await changeShare(token, by: .accepting, as: caller) {
            (found) throws(SyncError) in
            var participant = try reader.participant(user, of: found, by: token)
            if participant.acceptance == .accepted { return nil }
            participant.user = user
            participant.acceptance = .accepted
            // A participant who joins by an open share's link was not added by anyone before.
            if participant.added == 0 { participant.added = reader.now() }
            var share = found.share
            if let index = share.participants.firstIndex(where: { $0.id == participant.id }) {
                share.participants[index] = participant
            } else {
                guard share.participants.count < reader.options.limits.participantsPerShare else {
                    throw SyncError(
                        .tooManyParticipants,
                        "The share has \(share.participants.count) participants, which is the "
                            + "limit."
                    )
                }
                share.participants.append(participant)
            }
            return share
        }
    }

    /// See ``Store/requestShareAccess(_:as:)``.
    func requestShareAccess(_ token: String, as caller: Caller) async throws(SyncError) {
        let user = try reader.signedIn(caller)
        _ = try await changeShare(token, by: .asking, as: caller) { (found) throws(SyncError) in
            if let participant = found.share.participant(user) {
                if participant.acceptance == .accepted { return nil }
                throw SyncError(
                    .participantAlreadyInvited,
                    "\(user.userRecordName) is invited to the share already."
                )
            }
            guard found.share.allowsAccessRequests, !found.share.blocked.contains(user) else {
                throw .permissionFailure(
                    "The share does not accept requests from \(user.userRecordName)."
                )
            }
            if found.share.requesters.contains(user) { return nil }
            // Each request writes the whole record of the share again.
            guard found.share.requesters.count < reader.options.limits.participantsPerShare else {
                throw SyncError(
                    .tooManyParticipants,
                    "The share has \(found.share.requesters.count) requests for access, which is "
                        + "the limit.",
                    remedy: "Ask its owner to answer them first."
                )
            }
            var share = found.share
            share.requesters.append(user)
            return share
        }
    }

    /// The kind of a request by link: the first byte of the hashed request, which no other kind of
    /// request uses.
    private enum Asked: UInt8 {
        case accepting = 17
        case asking = 18
    }

    /// Changes a share's record by the share's own rules, and returns it; `nil` leaves it
    /// unchanged.
    ///
    /// The request's id belongs to the caller's shared database, whichever database the call names,
    /// because that is the one it changes.
    private func changeShare(
        _ token: String,
        by asked: Asked,
        as caller: Caller,
        _ edit: (Reader.Found) throws(SyncError) -> Share?
    ) async throws(SyncError) -> Record {
        var asking = caller
        asking.database = caller.database.sibling(.shared, of: caller.participant)
        let request = identity(of: asking, [asked.rawValue] + Array(token.utf8))
        try await committer.waitForRoom()
        while true {
            let picture = try reader.picture(.appended)
            // Before the link is looked up: a retry must find the first result even if the share
            // has ended since.
            if let request, let answer = try firstAnswer(to: request, in: picture) {
                try await committer.waitUntilDurable(answer.last)
                return try share(savedAt: answer.last, picture)
            }
            let found: Reader.Found
            let edited: Share?
            do throws(SyncError) {
                found = try reader.find(token, in: caller.database, picture)
                edited = try edit(found)
            } catch {
                // What led to it may not be durable yet.
                try await committer.waitUntilDurable(picture.bound)
                throw error
            }
            guard let share = edited, let key = found.zones.key(of: 0) else {
                try await committer.waitUntilDurable(found.stored.sequence)
                let isOwner = found.share.participant(try reader.signedIn(caller))?.role == .owner
                let record = try reader.record(found.stored, in: found.id.zone)
                return isOwner ? record : record.shown(to: ZoneAccess())
            }
            var plan = try plan(making: share, of: found, in: key, as: caller)
            // The save of the share is the last event. A retry reads the share from that position.
            let last = ItemOutcome.event(plan.eventCount - 1)
            plan.seal(as: caller, request, outcomes: [last])
            // Not limited: the owner's quota must not keep a participant from accepting, and the
            // share's record grows by little.
            guard let placed = try await append(&plan, over: picture, isLimited: false) else {
                continue
            }
            try await committer.waitUntilDurable(placed.last)
            return try self.share(savedAt: placed.last, picture)
        }
    }

    /// Returns the plan that replaces a share; the save of its record comes last.
    private func plan(
        making share: Share,
        of found: Reader.Found,
        in key: ZoneKey,
        as caller: Caller
    ) throws(SyncError) -> CommitPlan {
        let time = reader.now()
        let facts = found.picture.facts
        var plan = CommitPlan(over: facts, time: time)
        let author = Authorship(time: time, user: caller.user, device: caller.device)
        // The edit is based on the whole record of the share. Without this, a concurrent change of
        // it would be overwritten.
        plan.restsOn(found.item.slot, in: key)
        let change = try share.consequences(
            after: found.share,
            of: found.id.name,
            in: found.identity
        )
        try plan.add(change, of: caller.database, by: author, over: facts)
        let audiences = Audiences(facts)
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
        try plan.save(found.item, in: key, save, BodyAuthor(author), audience: place)
        return plan
    }

    /// A share's record as an event saved it, as participants see it.
    private func share(
        savedAt position: SequenceNumber,
        _ picture: ViewPicture
    ) throws(SyncError) -> Record {
        let stored = try reader.views.records(at: [position])[0]
        let identity: ZoneIdentity = try SyncError.wrapping { () throws(ViewIndexError) in
            try picture.zone(stored.zone).identity
        }
        let zone = ZoneID(
            zoneName: identity.zoneName.string,
            ownerName: identity.database.owner.userRecordName
        )
        return try reader.record(stored, in: zone).shown(to: ZoneAccess())
    }
}

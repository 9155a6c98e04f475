// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel
import TidemarkRules
import TidemarkViews

extension Reader {
    /// A share as a link leads to it.
    struct Found {
        var target: ShareLinkTarget
        /// The picture of the store.
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
            let item = try picture.facts.item(named: root.name, in: found.zones)
            rootRecord = try item.live.map { (live) throws(SyncError) in
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

    func signedIn(_ caller: Caller) throws(SyncError) -> UserID {
        let user = try currentUser(as: caller)
        return user == .current ? caller.participant : user
    }

    /// Looks a link up.
    func find(
        _ token: String,
        in database: DatabaseID,
        _ picture: ViewPicture
    ) throws(SyncError) -> Found {
        // Every failure below gives this error, so that a guessed link reveals nothing about zones
        // or shares.
        let missing = SyncError(
            .unknownItem,
            "There is no share with this link.",
            remedy: "Check the link, or ask for a new one. The share may have ended."
        )
        let name = Name(token)
        // A text that cannot be a record name is not a link either.
        guard (try? options.limits.check(recordName: name)) != nil else { throw missing }
        let link = try picture.facts.record(named: name, of: .shares, in: database)
        guard let link, let target = ShareRecords.link(in: try link.readBody()) else {
            throw missing
        }
        let owned = database.sibling(.private, of: target.owner)
        var zones = ConsultedZones()
        let zone = ZoneID(zoneName: target.zoneName.string, ownerName: target.owner.userRecordName)
        _ = try zones.index(of: zone, in: owned, creating: .none, picture.facts, options.limits)
        if zones.key(of: 0) == nil { throw missing }
        let found = try picture.facts.item(named: target.shareName, in: zones)
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
    func participant(
        _ user: UserID,
        of found: Found,
        by token: String
    ) throws(SyncError) -> ShareParticipant {
        // In this order: a participant who is known by name, the one that the link is for, one
        // invited by an address, and anyone if the share is open.
        let share = found.share
        if let known = share.participant(user) { return known }
        if let id = found.target.participantID,
            let invited = share.participants.first(where: { $0.id == id && $0.linkToken == token })
        {
            guard invited.user == nil else {
                throw .permissionFailure("The link was valid for one person and has been used.")
            }
            return invited
        }
        if let invited = try participant(user, byAddressIn: found) { return invited }
        if share.publicPermission != .none {
            return ShareParticipant(
                id: ShareUpdates.unguessable(random),
                user: user,
                role: .publicUser,
                permission: share.publicPermission
            )
        }
        // The caller may be invited by an address that their account does not have yet
        // (semantics.md, "Sharing").
        let mayBeMeant = share.participants.contains { participant in
            participant.user == nil && !(participant.email.isEmpty && participant.phone.isEmpty)
        }
        if mayBeMeant {
            throw SyncError(
                .participantMayNeedVerification,
                "A participant of the share was invited by an address that belongs to no account "
                    + "yet."
            )
        }
        throw .permissionFailure("\(user.userRecordName) is not invited to the share.")
    }

    /// Returns the participant that was invited by an address which now belongs to a user.
    func participant(
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
}

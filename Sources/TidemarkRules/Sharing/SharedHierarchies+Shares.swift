// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel

/// The shares that a commit begins, changes and ends.
extension SharedHierarchies {
    func settleSave(_ index: Int, _ save: RecordSave, over old: RecordBody?) throws(SyncError) {
        let id = recordID(index)
        guard save.isShare else {
            if save.share != nil {
                refusals[index] = SyncError(
                    .invalidArguments,
                    "The record \(id) is of type \(save.recordType); only records of type "
                        + "\(Share.recordType) share something."
                )
            }
            return
        }
        do throws(SyncError) {
            try settleShare(index, save, id, over: old)
        } catch {
            guard error.code != .internalError else { throw error }
            refusals[index] = error
        }
    }

    private func settleShare(
        _ index: Int,
        _ save: RecordSave,
        _ id: RecordID,
        over old: RecordBody?
    ) throws(SyncError) {
        let zone = zones[items[index].zone].identity
        let before = old.flatMap { Share($0.fields) }
        // Of a request only: the lines of an import hold the results of these rules.
        if var shares {
            shares.owner = zone.database.owner
            guard zone.database.scope == .private else {
                throw .badDatabase(zone.database, "share records")
            }
            guard !zone.isImplicit else {
                throw SyncError(
                    .invalidArguments,
                    "The default zone cannot be shared, nor can its records; use a custom zone."
                )
            }
            if let access = access(index), !access.mayChangeShare(named: id.recordName) {
                throw .permissionFailure(
                    "The share \(id) can be changed only by its owner and its administrators."
                )
            }
            // A save without sharing data leaves that of the share unchanged (semantics.md,
            // "Sharing").
            let content = save.share ?? before.map { ShareContent($0) }
            guard let content else {
                // The share has been deleted since the client fetched it.
                if save.changeTag != nil { throw .recordNotFound(id) }
                throw SyncError(
                    .invalidArguments,
                    "The share \(id) says neither what is shared nor with whom; send its root record, "
                        + "permission and participants."
                )
            }
            let after: Share
            if let before {
                after = try shares.changed(before, content, named: id)
            } else {
                after = try shares.created(content, named: id)
            }
            // The data of the share is in fields of its record that clients cannot name (events.md,
            // "System zones").
            fields[index] = try after.fields(beside: save.fields)
            let change = try after.consequences(after: before, of: id.name, in: zone)
            consequences.saves += change.saves
            consequences.deletions += change.deletions
            if before == nil { try begin(after, index, zone) }
        } else if let share = Share(save.fields),
            try audiences.key(ofShare: share.token, in: zone) == nil
        {
            try begin(share, index, zone)
        }
    }

    /// The maximum number of bytes of a link's token, which the name of an audience contains.
    ///
    /// Only an import can have a longer one than the store makes.
    private static let tokenByteLimit = 255

    private func begin(_ share: Share, _ index: Int, _ zone: ZoneIdentity) throws(SyncError) {
        let id = recordID(index)
        guard share.token.utf8.count <= Self.tokenByteLimit else {
            throw SyncError(
                .invalidArguments,
                "The token of the share \(id) has \(share.token.utf8.count) bytes; it may have "
                    + "\(Self.tokenByteLimit)."
            )
        }
        if let root = share.root {
            let zoneWide = place(Name(Share.zoneWideName), beside: index)
            if try isThere(zoneWide) { throw .alreadyShared(id, by: zoneWide.name) }
            let rootPlace = place(root, beside: index)
            guard try isThere(rootPlace) else {
                // An export of a compacted store may have the share before its root. The share then
                // waits for the root.
                if shares == nil {
                    rootless.append((rootPlace, id.name))
                    return
                }
                throw SyncError(
                    .unknownItem,
                    "There is no record \(root) to share.",
                    remedy: "Save it first or in the same request."
                )
            }
            if shares != nil, try isShare(rootPlace) {
                throw SyncError(
                    .invalidArguments,
                    "The share \(id) would share \(root), which is a share's own record; share the "
                        + "root record of that share."
                )
            }
            if shares?.needsRoot == true, named[rootPlace] == nil {
                throw SyncError(
                    .invalidArguments,
                    "The new share \(id) was sent without its root record \(root), and this store is "
                        + "strict; save both in one request."
                )
            }
            // The root may be shared before the commit, or by another item of it.
            if let other = try shareName(of: rootPlace), other != id.name {
                throw .alreadyShared(RecordID(recordName: root.string, zone: id.zone), by: other)
            }
            if linkByRoot[rootPlace] != nil {
                throw .alreadyShared(RecordID(recordName: root.string, zone: id.zone), by: root)
            }
            linkByRoot[rootPlace] = .set(id.name)
            begun.append((RecordPlace(items[index]), share.token))
            if let rootIndex = named[rootPlace], isChanged(rootIndex) {
                links[rootIndex] = .set(id.name)
            } else {
                // The root names its share, so the commit changes it too.
                try imply(.set(id.name), onRoot: rootPlace)
            }
        } else if !(try audiences.all(in: zone).isEmpty)
            || begun.contains(where: { $0.place.zone == items[index].zone })
        {
            throw SyncError(
                .alreadyShared,
                "The zone \(id.zone) holds shares of single records, and cannot be shared as a "
                    + "whole."
            )
        }
    }

    /// Begins the shares that were imported before their roots, if the commit saves the roots.
    func beginWaiting() throws(SyncError) {
        for (root, name) in waiting.sorted(by: { $0.value < $1.value }) {
            let place = RecordPlace(zone: root.zone, name: name)
            // The commit's own changes of the share and its root are already decided.
            if linkByRoot[root] != nil || named[place].map({ isChanged($0) }) ?? false { continue }
            guard let index = named[root], let item = try item(place),
                let body = item.liveBody, let share = Share(body.fields),
                share.root == root.name,
                try audiences.key(ofShare: share.token, in: zones[root.zone].identity) == nil
            else { continue }
            linkByRoot[root] = .set(name)
            links[index] = .set(name)
            begun.append((place, share.token))
            // The share's own record is in the audience too, and this commit does not save it.
            moves.append(Move(item: item, from: .none, to: .new(place)))
        }
    }

    func settleDeletion(_ index: Int) throws(SyncError) {
        guard let body = items[index].liveBody else { return }
        let id = recordID(index)
        // Without a name, which must not be revealed to a caller without read access.
        if access(index) != nil, isCascaded(index), body.isShare || body.shareName != nil {
            refusals[index] = .cascadesToTheOwners
            return
        }
        if body.isShare {
            if let access = access(index) {
                do throws(SyncError) {
                    try leave(index, body, access)
                } catch {
                    guard error.code != .internalError else { throw error }
                    refusals[index] = error
                }
            } else {
                try end(id.name, body, index)
            }
        } else if let share = body.shareName {
            if access(index) != nil {
                refusals[index] = .rootIsItsOwners(id)
                return
            }
            let sharePlace = place(Name(share), beside: index)
            if let shareIndex = named[sharePlace] {
                // If the request also deletes the share's record, that deletion ends the share.
                switch changes[shareIndex] {
                case .delete:
                    return
                case .save:
                    refusals[shareIndex] = .savedAndDeleted(recordID(shareIndex))
                    return
                case .nothing:
                    break
                }
            }
            guard let record = try neighbours.item(sharePlace), let shareBody = record.liveBody
            else {
                return
            }
            // The share ends with its root, and so does the share's record.
            try end(Name(share), shareBody, index)
            implied.append((Implied(item: record, save: nil), Passage(from: .none, to: .none)))
        }
    }

    /// Ends a share whose record is deleted, alone or with its root.
    private func end(_ name: Name, _ body: RecordBody, _ index: Int) throws(SyncError) {
        let zone = zones[items[index].zone].identity
        guard let share = Share(body.fields) else { return }
        // A share of the whole zone has no audience.
        if let key = try audiences.key(ofShare: share.token, in: zone) { ended.append(key) }
        if shares != nil {
            let change = try share.consequencesOfEnd(of: name, in: zone)
            consequences.saves += change.saves
            consequences.deletions += change.deletions
        }
        guard let root = share.root else { return }
        let rootPlace = place(root, beside: index)
        linkByRoot[rootPlace] = .removed
        if let rootIndex = named[rootPlace], isChanged(rootIndex) {
            links[rootIndex] = .removed
            return
        }
        try imply(.removed, onRoot: rootPlace)
    }

    /// Removes the caller from a share whose record the caller deletes.
    private func leave(_ index: Int, _ body: RecordBody, _ access: ZoneAccess) throws(SyncError) {
        let id = recordID(index)
        guard let before = Share(body.fields), let part = access.part(inShare: id.recordName) else {
            throw .permissionFailure("The caller does not take part in the share \(id).")
        }
        var after = before
        after.participants.removeAll { $0.id == part.participantID }
        let zone = zones[items[index].zone].identity
        let change = try after.consequences(after: before, of: id.name, in: zone)
        consequences.saves += change.saves
        consequences.deletions += change.deletions
        // The record changes instead of being deleted, so the owner learns who has left.
        leaves[index] = RecordSave(
            id,
            type: Share.recordType,
            fields: try after.fields(beside: Fields()),
            policy: .changedKeys
        )
    }

    /// Changes the root of a share that begins or ends, if the commit does not name the root.
    private func imply(_ link: ShareLink, onRoot place: RecordPlace) throws(SyncError) {
        // The save sets no field. It only changes the name of the share in the root's header.
        guard let item = try neighbours.item(place), let body = item.liveBody else { return }
        let save = RecordSave(
            RecordID(recordName: place.name.string, zone: zones[place.zone].zone),
            type: body.recordType,
            fields: Fields(),
            policy: .changedKeys
        )
        implied.append(
            (Implied(item: item, save: save, link: link), Passage(from: .none, to: .none))
        )
    }

    /// Returns the lookup of a record, which may be outside of the commit.
    func item(_ place: RecordPlace) throws(SyncError) -> ConsultedItem? {
        if let index = named[place] { return items[index] }
        return try neighbours.item(place)
    }

    /// Returns true if a record exists after the commit.
    func isThere(_ place: RecordPlace) throws(SyncError) -> Bool {
        if let index = named[place] {
            switch changes[index] {
            case .save: return true
            case .delete: return false
            case .nothing: return items[index].isLive
            }
        }
        return try neighbours.liveBody(of: place) != nil
    }

    /// Returns true if an existing record is a share's record after the commit.
    private func isShare(_ place: RecordPlace) throws(SyncError) -> Bool {
        if let index = named[place], case .save(let save, _) = changes[index] {
            return save.isShare
        }
        return try item(place)?.liveBody?.isShare ?? false
    }

    /// Returns the share that a record is the root of before the commit.
    private func shareName(of place: RecordPlace) throws(SyncError) -> Name? {
        try item(place)?.liveBody?.shareName.map { Name($0) }
    }
}

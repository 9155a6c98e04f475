// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel

/// The records that join or leave a share.
extension SharedHierarchies {
    func settleAudiences() throws(SyncError) {
        var open: [Carried] = []
        // Excludes records that follow a change of others, since those others are rejected.
        var following: [Carried] = []
        for index in items.indices {
            let place = RecordPlace(items[index])
            switch changes[index] {
            case .nothing:
                continue
            case .delete:
                // A participant who leaves does not delete the share's record, so its audience
                // stays.
                guard leaves[index] == nil else {
                    let audience = try before(items[index])
                    passages[index] = Passage(from: audience, to: audience)
                    continue
                }
                let before = try before(items[index])
                passages[index] = Passage(from: before, to: .none)
            case .save(let save, let old):
                let before = try before(items[index])
                let after = try after(place)
                passages[index] = Passage(from: before, to: after)
                guard before != after else { continue }
                let carried = Carried(place: place, audience: after, origin: index)
                if linkByRoot[place] != nil || save.movesRecord(over: old) {
                    open.append(carried)
                } else {
                    following.append(carried)
                }
            }
        }
        for index in implied.indices {
            let item = implied[index].change.item
            let place = RecordPlace(item)
            let before = try before(item)
            let after = implied[index].change.save == nil ? .none : try after(place)
            implied[index].passage = Passage(from: before, to: after)
            if implied[index].change.save != nil, before != after {
                // The item of the share is rejected if another share is found below this root.
                let origin = named[shareRecord(of: after)] ?? 0
                open.append(Carried(place: place, audience: after, origin: origin))
            }
        }
        // The walk takes the last entries first: the records that move by themselves, before those
        // that follow them.
        try carryOn(following + open)
        try checkRoots()
        for index in items.indices { check(index) }
    }

    private func shareRecord(of audience: AudienceRef) -> RecordPlace {
        if case .new(let place) = audience { return place }
        return RecordPlace(zone: 0, name: Name(""))
    }

    /// A record that joins another audience, and the item that causes this.
    private struct Carried {
        var place: RecordPlace
        var audience: AudienceRef
        var origin: Int
    }

    /// Moves the descendants of records that changed their audience, the last ones first.
    private func carryOn(_ carried: [Carried]) throws(SyncError) {
        var open = carried
        var reached: [RecordPlace: AudienceRef] = [:]
        var moved: [RecordPlace: Int] = [:]
        var impliedSaves: [RecordPlace: Int] = [:]
        for index in implied.indices where implied[index].change.save != nil {
            impliedSaves[RecordPlace(implied[index].change.item)] = index
        }
        while let next = open.popLast() {
            let (place, audience, origin) = (next.place, next.audience, next.origin)
            // Also ends the walk of a cycle, which an import may contain.
            guard reached.updateValue(audience, forKey: place) != audience else { continue }
            for child in try children(of: place) {
                let childPlace = RecordPlace(child)
                // A root stays in its own share, with all below it. Under another share, it would
                // be in two.
                if try isRootAfterwards(child, childPlace) {
                    if audience != .none {
                        refusals[origin] = .alreadyShared(
                            RecordID(recordName: child.name.string, zone: zones[child.zone].zone),
                            by: child.name
                        )
                    }
                    continue
                }
                settled[childPlace] = audience
                if let index = named[childPlace], case .save = changes[index] {
                    passages[index]?.to = audience
                    open.append(Carried(place: childPlace, audience: audience, origin: origin))
                    continue
                }
                // A root that ceases to be one has an event of its own, which names its audience.
                if let index = impliedSaves[childPlace] {
                    implied[index].passage.to = audience
                    open.append(Carried(place: childPlace, audience: audience, origin: origin))
                    continue
                }
                let before = try before(child)
                if let index = moved[childPlace] {
                    moves[index].to = audience
                } else if before != audience {
                    moved[childPlace] = moves.count
                    moves.append(Move(item: child, from: before, to: audience))
                } else {
                    continue
                }
                open.append(Carried(place: childPlace, audience: audience, origin: origin))
            }
        }
        moves.removeAll { $0.from == $0.to }
        // In log order, so that a participant's first fetch reads each block once.
        moves.sort { $0.item.previous < $1.item.previous }
    }

    /// Returns the records that have another one as their parent after the commit.
    private func children(of place: RecordPlace) throws(SyncError) -> [ConsultedItem] {
        var children: [ConsultedItem] = []
        // The index has the parents before the commit. Items that the commit changes are judged by
        // their new parents below.
        for (item, binding) in try neighbours.sources(of: place) where binding.contains(.parent) {
            if let index = named[RecordPlace(item)], isChanged(index) { continue }
            // The record of a share is in the share's own audience, whatever its parent.
            if item.liveBody?.isShare == true { continue }
            children.append(item)
        }
        for index in itemsByParent()[place] ?? [] { children.append(items[index]) }
        return children
    }

    /// Returns the indexes of the items that are saved under each parent.
    private func itemsByParent() -> [RecordPlace: [Int]] {
        if let known = knownItemsByParent { return known }
        var found: [RecordPlace: [Int]] = [:]
        for index in items.indices {
            guard case .save(let save, let old) = changes[index],
                !save.isShare, let parent = save.parentName(over: old)
            else { continue }
            found[RecordPlace(zone: items[index].zone, name: parent), default: []].append(index)
        }
        knownItemsByParent = found
        return found
    }

    private func isRootAfterwards(
        _ item: ConsultedItem,
        _ place: RecordPlace
    ) throws(SyncError) -> Bool {
        if let link = linkByRoot[place] { return link != .removed }
        return item.liveBody?.shareName != nil
    }

    private func before(_ item: ConsultedItem) throws(SyncError) -> AudienceRef {
        guard let zone = zones.key(of: item.zone) else { return .none }
        let audience = try audiences.audience(of: ViewKey(zone: zone, slot: item.slot))
        // When a share ends, its audience ends as a whole.
        if case .known(let key) = audience, ended.contains(key) { return .none }
        return audience
    }

    /// Returns the audience of a record after the commit.
    ///
    /// Walks up the ancestors to a known audience, in a loop: an import may contain lines of any
    /// length, and cycles, which are under no share.
    private func after(_ place: RecordPlace) throws(SyncError) -> AudienceRef {
        var below: [RecordPlace] = []
        var next: RecordPlace? = place
        var audience = AudienceRef.none
        while let current = next {
            if let known = settled[current] {
                audience = known
                break
            }
            switch try standing(of: current) {
            case .under(let known):
                audience = known
                settled[current] = known
                next = nil
            case .asItsParent(let parent):
                below.append(current)
                // Set before the walk continues, so that a cycle ends here.
                settled[current] = AudienceRef.none
                next = parent.map { RecordPlace(zone: current.zone, name: $0) }
            }
        }
        for place in below { settled[place] = audience }
        return audience
    }

    /// The source of a record's audience after the commit.
    private enum Standing {
        case under(AudienceRef)
        /// The audience of its parent; none without a parent.
        case asItsParent(Name?)
    }

    private func standing(of place: RecordPlace) throws(SyncError) -> Standing {
        // A share's own record is in the audience that the share begins.
        if begun.contains(where: { $0.place == place }) { return .under(.new(place)) }
        let link = linkByRoot[place]
        if case .set(let share) = link {
            return .under(.new(RecordPlace(zone: place.zone, name: share)))
        }
        guard let item = try item(place) else { return .under(.none) }
        if let index = named[place], case .save(let save, let old) = changes[index] {
            let share = item.liveBody?.shareName
            // A share's record and the root of a share that stays keep their audience, whatever
            // their parent.
            if save.isShare || link == nil && share != nil { return .under(try before(item)) }
            return .asItsParent(save.parentName(over: old))
        }
        if link == nil {
            // The record moves if one of its ancestors does, in any order of the items.
            if try treesMove(), let parent = try parentAfterwards(of: item, place) {
                return .asItsParent(parent)
            }
            return .under(try before(item))
        }
        return .asItsParent(item.liveBody?.parentName.map { Name($0) })
    }

    /// Returns the parent of a record that the commit does not save, if it exists after the commit;
    /// `nil` for the root of a share.
    private func parentAfterwards(
        of item: ConsultedItem,
        _ place: RecordPlace
    ) throws(SyncError) -> Name? {
        guard let body = item.liveBody, body.shareName == nil, let name = body.parentName else {
            return nil
        }
        let parent = Name(name)
        return try isThere(RecordPlace(zone: place.zone, name: parent)) ? parent : nil
    }

    /// Returns true if the audience of one item's record may depend on another item that moves a
    /// whole tree.
    ///
    /// New records alone do not cause that, since they have no descendants: a parent stays as long
    /// as it has children. A line of an import may follow the lines of its children.
    private func treesMove() throws(SyncError) -> Bool {
        if let known = knownToMoveTrees { return known }
        var moving: [Int] = []
        for index in items.indices {
            guard case .save(let save, let old) = changes[index] else { continue }
            if save.movesRecord(over: old) { moving.append(index) }
        }
        var treesMove = !linkByRoot.isEmpty
        for index in moving where !treesMove && moving.count > 1 {
            treesMove = items[index].isLive
            if treesMove || shares != nil { continue }
            treesMove = try !neighbours.sources(of: RecordPlace(items[index])).isEmpty
        }
        knownToMoveTrees = treesMove
        return treesMove
    }

    /// Rejects shares whose root is under another share, and saves that move a root under one.
    private func checkRoots() throws(SyncError) {
        for index in items.indices {
            let place = RecordPlace(items[index])
            guard case .save(let save, let old) = changes[index], !save.isShare,
                linkByRoot[place] == nil,
                let share = items[index].liveBody?.shareName,
                let parent = save.parentName(over: old),
                try after(RecordPlace(zone: place.zone, name: parent)) != .none
            else { continue }
            refusals[index] = .alreadyShared(recordID(index), by: Name(share))
        }
        for (root, link) in linkByRoot {
            // The item that saves the share is rejected, or else the item that saves the root.
            guard case .set(let share) = link,
                let index = named[RecordPlace(zone: root.zone, name: share)] ?? named[root],
                let item = try item(root)
            else { continue }
            var parent = item.liveBody?.parentName.map { Name($0) }
            if let index = named[root], case .save(let save, let old) = changes[index] {
                parent = save.parentName(over: old)
            }
            guard let parent else { continue }
            if try after(RecordPlace(zone: root.zone, name: parent)) != .none {
                refusals[index] = .alreadyShared(
                    RecordID(recordName: root.name.string, zone: zones[root.zone].zone),
                    by: parent
                )
            }
        }
    }

    /// Rejects changes that a participant may not make.
    private func check(_ index: Int) {
        guard case .save(let save, _) = changes[index], let passage = passages[index] else {
            return
        }
        guard let access = access(index), !save.isShare else {
            return
        }
        if !access.mayWrite(passage.to) {
            refusals[index] = .permissionFailure(
                "The record \(recordID(index)) would not be under a share that the caller may "
                    + "write; give it a parent under such a share."
            )
        }
    }
}

extension RecordSave {
    /// Returns true if the save changes the parent of the record's previous version.
    fileprivate func movesRecord(over old: RecordBody?) -> Bool {
        parentName(over: old) != old?.parentName.map { Name($0) }
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel

/// Which records come under a share or leave one.
extension SharedHierarchies {
    mutating func settleAudiences() throws(SyncError) {
        var open: [Carried] = []
        // Those that only follow what the commit does to others: the others are at fault.
        var following: [Carried] = []
        for index in items.indices {
            let place = RecordPlace(items[index])
            switch changes[index] {
            case .nothing:
                continue
            case .delete:
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
                if linkByRoot[place] != nil || save.movesRecord(over: old?.bodyReadBefore) {
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
                let origin = named[shareRecord(of: after)] ?? 0
                open.append(Carried(place: place, audience: after, origin: origin))
            }
        }
        try carryOn(following + open)
        try checkRoots()
        for index in items.indices { check(index) }
    }

    private func shareRecord(of audience: AudienceRef) -> RecordPlace {
        if case .new(let place) = audience { return place }
        return RecordPlace(zone: 0, name: Name(""))
    }

    /// A record that comes under another audience, and the item because of which it does.
    private struct Carried {
        var place: RecordPlace
        var audience: AudienceRef
        var origin: Int
    }

    /// Takes the records below those that changed their audience along; the last ones first.
    private mutating func carryOn(_ carried: [Carried]) throws(SyncError) {
        var open = carried
        var reached: [RecordPlace: AudienceRef] = [:]
        var moved: [RecordPlace: Int] = [:]
        while let next = open.popLast() {
            let (place, audience, origin) = (next.place, next.audience, next.origin)
            guard reached.updateValue(audience, forKey: place) != audience else { continue }
            for child in try children(of: place) {
                let childPlace = RecordPlace(child)
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
        // In the order of the log, so that a participant's first fetch reads its blocks one by one.
        moves.sort { ($0.item.live?.sequence ?? .zero) < ($1.item.live?.sequence ?? .zero) }
    }

    /// The records that have another one as their parent once the commit is done.
    private mutating func children(of place: RecordPlace) throws(SyncError) -> [ConsultedItem] {
        var children: [ConsultedItem] = []
        for (item, binding) in try neighbours.sources(of: place) where binding.contains(.parent) {
            if let index = named[RecordPlace(item)], isChanged(index) { continue }
            children.append(item)
        }
        for index in items.indices where items[index].zone == place.zone {
            if case .save(let save, let old) = changes[index],
                save.parentName(over: old?.bodyReadBefore) == place.name
            {
                children.append(items[index])
            }
        }
        return children
    }

    private func isRootAfterwards(
        _ item: ConsultedItem,
        _ place: RecordPlace
    ) throws(SyncError) -> Bool {
        if let link = linkByRoot[place] { return link != .removed }
        return try item.live?.readBody().shareName != nil
    }

    private mutating func before(_ item: ConsultedItem) throws(SyncError) -> AudienceRef {
        guard let zone = zones.key(of: item.zone) else { return .none }
        let audience = try audiences.audience(of: ViewKey(zone: zone, slot: item.slot))
        // With a share its audience ends as a whole.
        if case .known(let key) = audience, ended.contains(key) { return .none }
        return audience
    }

    /// What a record is under once the commit is done.
    ///
    /// Goes up the tree until something is known, in a loop: an import may bring lines of any length,
    /// and ones that end where they began, which are under nothing.
    private mutating func after(_ place: RecordPlace) throws(SyncError) -> AudienceRef {
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
                settled[current] = AudienceRef.none
                next = parent.map { RecordPlace(zone: current.zone, name: $0) }
            }
        }
        for place in below { settled[place] = audience }
        return audience
    }

    /// What says what a record is under once the commit is done.
    private enum Standing {
        case under(AudienceRef)
        /// What its parent is under; nothing without a parent.
        case asItsParent(Name?)
    }

    private mutating func standing(of place: RecordPlace) throws(SyncError) -> Standing {
        if begun.contains(where: { $0.place == place }) { return .under(.new(place)) }
        let link = linkByRoot[place]
        if case .set(let share) = link {
            return .under(.new(RecordPlace(zone: place.zone, name: share)))
        }
        guard let item = try item(place) else { return .under(.none) }
        if let index = named[place], case .save(let save, let old) = changes[index] {
            let share = try item.live?.readBody().shareName
            if save.isShare || link == nil && share != nil { return .under(try before(item)) }
            return .asItsParent(save.parentName(over: old?.bodyReadBefore))
        }
        if link == nil {
            // It moves along where something above it moves, whatever the order of the items.
            if try treesMove(), let parent = try parentAfterwards(of: item, place) {
                return .asItsParent(parent)
            }
            return .under(try before(item))
        }
        return .asItsParent(try item.live?.readBody().parentName.map { Name($0) })
    }

    /// The parent of a record that the commit does not save, if that is there once the commit is done;
    /// `nil` for the root of a share.
    private mutating func parentAfterwards(
        of item: ConsultedItem,
        _ place: RecordPlace
    ) throws(SyncError) -> Name? {
        guard let body = try item.live?.readBody(), body.shareName == nil,
            let name = body.parentName
        else { return nil }
        let parent = Name(name)
        return try isThere(RecordPlace(zone: place.zone, name: parent)) ? parent : nil
    }

    /// Whether what one item's record is under may depend on where another item takes a whole tree.
    ///
    /// Not so for any number of new records, which nothing is below: a parent stays as long as it has
    /// children. A line of an import may come behind those of its children.
    private mutating func treesMove() throws(SyncError) -> Bool {
        if let known = knownToMoveTrees { return known }
        var moving: [Int] = []
        for index in items.indices {
            guard case .save(let save, let old) = changes[index] else { continue }
            if save.movesRecord(over: old?.bodyReadBefore) { moving.append(index) }
        }
        var treesMove = !linkByRoot.isEmpty
        for index in moving where !treesMove && moving.count > 1 {
            treesMove = items[index].live != nil
            if treesMove || shares != nil { continue }
            treesMove = try !neighbours.sources(of: RecordPlace(items[index])).isEmpty
        }
        knownToMoveTrees = treesMove
        return treesMove
    }

    /// Refuses shares whose root is under another one, and saves that bring a root there.
    private mutating func checkRoots() throws(SyncError) {
        for index in items.indices {
            let place = RecordPlace(items[index])
            guard case .save(let save, let old) = changes[index], !save.isShare,
                linkByRoot[place] == nil,
                let share = try items[index].live?.readBody().shareName,
                let parent = save.parentName(over: old?.bodyReadBefore),
                try after(RecordPlace(zone: place.zone, name: parent)) != .none
            else { continue }
            refusals[index] = .alreadyShared(recordID(index), by: Name(share))
        }
        for (root, link) in linkByRoot {
            guard case .set(let share) = link,
                let index = named[RecordPlace(zone: root.zone, name: share)] ?? named[root],
                let item = try item(root)
            else { continue }
            var parent = try item.live?.readBody().parentName.map { Name($0) }
            if let index = named[root], case .save(let save, let old) = changes[index] {
                parent = save.parentName(over: old?.bodyReadBefore)
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

    /// Refuses what a participant may not do.
    private mutating func check(_ index: Int) {
        guard case .save(let save, _) = changes[index], let passage = passages[index] else {
            return
        }
        guard let access = access(index), !save.isShare else {
            return
        }
        if !access.mayWrite(passage.to) {
            refusals[index] = .permissionFailure(
                "The record \(recordID(index)) would not be under a share that the caller may "
                    + "write; give it a parent that is."
            )
        }
    }
}

extension RecordSave {
    /// Whether the record has another parent afterwards than in its version before.
    fileprivate func movesRecord(over old: RecordBody?) -> Bool {
        parentName(over: old) != old?.parentName.map { Name($0) }
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Tidemark
import TidemarkModel

/// What several users see of each other's zones, and may do there, said with plain dictionaries.
///
/// Written from the reference, not from the engine: it knows no audiences and no events. Records and
/// their ties are ``RulesModel``'s; what a share shows is found by walking the owner's tree anew.
struct ContainerModel {
    /// A zone by its owner and its name.
    struct Place: Hashable {
        var owner: String
        var zone: String
    }

    struct Part: Equatable {
        var permission: SharePermission
        var isAccepted = false
        /// Whether they came by the link of an open share.
        var isPublic = false

        var showsSomething: Bool { isAccepted && permission != .none }
    }

    struct Share: Equatable {
        /// `nil` for the whole zone.
        var root: String?
        var open = SharePermission.none
        var parts: [String: Part] = [:]
    }

    /// What somebody who may change a share says about it.
    struct ShareSave {
        var name: String
        var root: String?
        var open = SharePermission.none
        /// Those invited, by user.
        var invited: [String: SharePermission] = [:]
    }

    typealias Code = SyncError.Code
    /// Which version of each record somebody sees.
    typealias View = [String: Int]

    /// The private databases, by owner.
    var databases: [String: RulesModel] = [:]
    private(set) var shares: [Place: [String: Share]] = [:]

    func database(_ owner: String) -> RulesModel { databases[owner] ?? RulesModel() }

    // MARK: What is seen

    /// The records that are there, each with its version.
    func records(_ place: Place) -> View {
        (database(place.owner).zones[place.zone]?.records ?? [:])
            .filter { $0.value.fields != nil }.mapValues(\.number)
    }

    /// The share that a record is under: that of the first root on the way up.
    private func share(
        above name: String,
        _ bonds: [String: Set<RulesModel.Bond>],
        _ roots: [String: String]
    ) -> String? {
        var next: String? = name
        for _ in 0..<1_000 {
            guard let place = next else { return nil }
            if let share = roots[place] { return share }
            next = bonds[place]?.first { $0.kind == .parent }?.target
        }
        return nil
    }

    /// The shares of a zone by their roots.
    private func roots(_ place: Place) -> [String: String] {
        var roots: [String: String] = [:]
        for (name, share) in shares[place] ?? [:] {
            if let root = share.root { roots[root] = name }
        }
        return roots
    }

    /// The share that shows a record, if one does.
    func share(showing name: String, in place: Place) -> String? {
        if let whole = shares[place]?[TidemarkModel.Share.zoneWideName], whole.root == nil {
            return TidemarkModel.Share.zoneWideName
        }
        if shares[place]?[name] != nil { return name }
        return share(above: name, database(place.owner).live(in: place.zone), roots(place))
    }

    /// What a user sees of somebody else's zone; `nil` where they see no zone.
    func view(of user: String, in place: Place) -> View? {
        let own = (shares[place] ?? [:]).filter { $0.value.parts[user]?.showsSomething ?? false }
        if own.isEmpty { return nil }
        return records(place).filter { name, _ in
            share(showing: name, in: place).map { own[$0] != nil } ?? false
        }
    }

    private func mayWrite(_ user: String, _ share: String?, in place: Place) -> Bool {
        guard let share, let part = shares[place]?[share]?.parts[user] else { return false }
        return part.isAccepted && part.permission == .readWrite
    }

    // MARK: Saving and deleting

    /// What a request is answered, by the zone's owner or by somebody who takes part.
    mutating func modify(
        _ saves: [RulesModel.Save],
        _ deletions: [RulesModel.Deletion],
        in place: Place,
        isAtomic: Bool,
        by user: String
    ) -> [Code?] {
        let isOwner = user == place.owner
        if !isOwner, view(of: user, in: place) == nil {
            return Array(repeating: .zoneNotFound, count: saves.count + deletions.count)
        }
        let before = self
        var guards = RulesModel.Guards()
        if !isOwner {
            guards.refusal = { name, isDeletion in
                guard before.mayWrite(user, before.share(showing: name, in: place), in: place)
                else { return .permissionFailure }
                // Its owner alone deletes a root.
                return isDeletion && before.roots(place)[name] != nil ? .permissionFailure : nil
            }
            guards.isHidden = { before.view(of: user, in: place)?[$0] == nil }
        }
        guards.canBeParent = { before.shares[place]?[$0] == nil }
        let moved = saves.filter { if case .set = $0.parent { true } else { false } }.map(\.name)
        guards.problems = { after, saved, gone in
            before.problems(after, saved, gone, moved, deletions, in: place, by: user)
        }
        let codes = databases[place.owner, default: RulesModel()].modify(
            saves,
            deletions,
            in: place.zone,
            isAtomic: isAtomic,
            by: guards
        )
        endShares(in: place)
        return codes
    }

    private func problems(
        _ after: [String: Set<RulesModel.Bond>],
        _ saved: [String],
        _ gone: Set<String>,
        _ moved: [String],
        _ deletions: [RulesModel.Deletion],
        in place: Place,
        by user: String
    ) -> [String: Code] {
        let all = roots(place)
        let roots = all.filter { !gone.contains($0.key) && !gone.contains($0.value) }
        var problems: [String: Code] = [:]
        // A root with a parent that is under a share: there would be two on one way up.
        let doubled = roots.keys.filter { root in
            let parent = after[root]?.first { $0.kind == .parent }?.target
            return parent.flatMap { share(above: $0, after, roots) } != nil
        }
        if !doubled.isEmpty {
            for name in saved where moved.contains(name) || doubled.contains(name) {
                problems[name] = .alreadyShared
            }
        }
        guard user != place.owner else { return problems }
        let isWhole = shares[place]?[TidemarkModel.Share.zoneWideName] != nil
        for name in saved {
            let share =
                isWhole ? TidemarkModel.Share.zoneWideName : share(above: name, after, roots)
            if !mayWrite(user, share, in: place) { problems[name] = .permissionFailure }
        }
        for deletion in deletions where !gone.isDisjoint(with: all.keys) {
            problems[deletion.name] = .permissionFailure
        }
        return problems
    }

    /// Shares whose record or root is gone end; a root that stays has no share any more.
    private mutating func endShares(in place: Place) {
        for (name, share) in shares[place] ?? [:] {
            let records = records(place)
            let isRootGone = share.root.map { records[$0] == nil } ?? false
            guard records[name] == nil || isRootGone else { continue }
            shares[place]?[name] = nil
            databases[place.owner]?.drop(name, in: place.zone)
            if let root = share.root, !isRootGone {
                databases[place.owner]?.touch(root, in: place.zone)
            }
        }
    }

    mutating func createZone(_ place: Place) {
        databases[place.owner, default: RulesModel()].createZone(place.zone)
    }

    mutating func deleteZone(_ place: Place) -> Code? {
        shares[place] = nil
        return databases[place.owner, default: RulesModel()].deleteZone(place.zone)
    }

    // MARK: Shares

    /// The owner says what is shared and with whom.
    mutating func save(_ save: ShareSave, in place: Place) -> Code? {
        let isOpen = save.open != .none
        guard let old = shares[place]?[save.name] else {
            if isOpen, !save.invited.isEmpty { return .invalidArguments }
            var share = Share(root: save.root, open: save.open)
            share.parts = save.invited.mapValues { Part(permission: $0) }
            if let code = refusal(of: share, in: place) { return code }
            shares[place, default: [:]][save.name] = share
            databases[place.owner]?.add(save.name, in: place.zone)
            if let root = share.root { databases[place.owner]?.touch(root, in: place.zone) }
            return nil
        }
        var share = old
        share.open = save.open
        share.parts = isOpen ? old.parts.filter(\.value.isPublic) : [:]
        for user in share.parts.keys { share.parts[user]?.permission = save.open }
        for (user, permission) in save.invited {
            // Who came by the link is there already, and is invited anew once it is closed.
            if let known = old.parts[user], known.isPublic, isOpen { continue }
            guard var known = old.parts[user], !known.isPublic else {
                if isOpen { return .invalidArguments }
                share.parts[user] = Part(permission: permission)
                continue
            }
            // Opening takes back what nobody has accepted.
            if isOpen, !known.isAccepted { continue }
            known.permission = permission
            share.parts[user] = known
        }
        shares[place]?[save.name] = share
        databases[place.owner]?.touch(save.name, in: place.zone)
        return nil
    }

    private func refusal(of share: Share, in place: Place) -> Code? {
        let others = shares[place] ?? [:]
        guard let root = share.root else { return others.isEmpty ? nil : .alreadyShared }
        if others[TidemarkModel.Share.zoneWideName] != nil { return .alreadyShared }
        if records(place)[root] == nil { return .unknownItem }
        let bonds = database(place.owner).live(in: place.zone)
        var after = roots(place)
        if after[root] != nil { return .alreadyShared }
        after[root] = "new"
        let isDoubled = after.keys.contains { root in
            let parent = bonds[root]?.first { $0.kind == .parent }?.target
            return parent.flatMap { self.share(above: $0, bonds, after) } != nil
        }
        return isDoubled ? .alreadyShared : nil
    }

    /// Somebody opens a share's link.
    mutating func accept(_ name: String, in place: Place, by user: String) -> Code? {
        guard let share = shares[place]?[name] else { return .unknownItem }
        if user == place.owner || share.parts[user]?.isAccepted ?? false { return nil }
        var part = share.parts[user]
        if part == nil, share.open != .none { part = Part(permission: share.open, isPublic: true) }
        guard var part else { return .permissionFailure }
        part.isAccepted = true
        shares[place]?[name]?.parts[user] = part
        databases[place.owner]?.touch(name, in: place.zone)
        return nil
    }

    /// A participant deletes the share's record from what they see.
    mutating func leave(_ name: String, in place: Place, by user: String) -> Code? {
        if view(of: user, in: place) == nil { return .zoneNotFound }
        guard let part = shares[place]?[name]?.parts[user] else {
            // Deleting what is not there succeeds.
            return records(place)[name] == nil ? nil : .permissionFailure
        }
        if !part.showsSomething { return .permissionFailure }
        shares[place]?[name]?.parts[user] = nil
        databases[place.owner]?.touch(name, in: place.zone)
        return nil
    }
}

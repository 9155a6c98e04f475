// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
package import TidemarkLog
package import TidemarkModel

/// The decision about a request to save and delete records: the outcome of every item, and the
/// commit.
///
/// Not copyable, because a copy retains some thirty arrays.
package struct RecordDecision: ~Copyable, Sendable {
    /// The outcome of an item.
    package enum Outcome: Sendable {
        /// Done by the event with this index in the commit.
        case event(Int)
        /// Done without an event, because nothing had to change.
        case nothingToDo
        /// Rejected because of the version at a position (zero if there was none).
        case refused(SyncError, against: SequenceNumber)
    }

    /// The outcomes of the saves, then of the deletions, each in request order.
    package private(set) var outcomes: [Outcome] = []
    /// The commit; empty if nothing has to change.
    package var plan: CommitPlan
    /// The highest position that the decision depends on; the result must not be returned before
    /// that position is durable.
    package var lookedAt: SequenceNumber {
        max(
            consulted.lookedAt,
            neighboursLookedAt,
            schema?.lastSequence ?? 0,
            access?.lastSequence ?? 0
        )
    }

    private var consulted: ConsultedItems
    package let zones: ConsultedZones
    /// The schema; `nil` if schemas are not checked.
    private var schema: GrowingSchema?
    /// The caller's access; `nil` if it is unlimited.
    private let access: PublicAccess?
    private let facts: any Facts
    private var neighboursLookedAt: SequenceNumber = 0
    /// True if every item so far is a save that depends on no other item, so that its event can be
    /// written before the next item is decided.
    private var isPlain = false
    /// The placeholders of the zones that the plan creates.
    private var createdZones: [Int: ZoneKey] = [:]

    /// Starts a decision based on the lookups of a request.
    package init(
        _ consulted: consuming ConsultedItems,
        in zones: consuming ConsultedZones,
        under schema: consuming GrowingSchema?,
        with access: PublicAccess?,
        naming assets: consuming ConsultedAssets?,
        over facts: any Facts,
        time: Int64
    ) {
        self.consulted = consulted
        self.zones = zones
        self.schema = schema
        self.access = access
        self.facts = facts
        plan = CommitPlan(over: facts, time: time)
        plan.assets = assets
    }

    /// True if the commit has no event.
    package var isEmpty: Bool { plan.eventCount == 0 }

    /// Decides all items; the updates of shares are made only for a request that involves shares.
    package mutating func decide(
        _ request: ModifyRecordsRequest,
        as caller: Caller,
        by rules: RecordRules,
        _ shares: @autoclosure () -> ShareUpdates
    ) throws(SyncError) {
        reserveCapacity(for: request)
        let author = Authorship(time: plan.draft.time, user: caller.user, device: caller.device)
        let bodyAuthor = BodyAuthor(author)
        var audiences = Audiences(facts)
        var verdicts = try verdicts(on: request, by: rules, &audiences, bodyAuthor)
        if isPlain { return restOnItems() }
        // What follows is for requests whose items depend on each other, or on other records.
        var cascades = try bind(request, &verdicts, rules.limits, audiences)
        var transitions = ShareTransitions(audiences)
        while true {
            transitions.rules = try sharing(request, verdicts, cascades, shares, audiences)
            let refusals = try transitions.rules?.settle() ?? [:]
            for (index, error) in refusals {
                verdicts[origin(of: index, cascades)] = .refused(error)
            }
            let isSpread = request.isAtomic && spread(&verdicts, request)
            // A rejection may affect the remaining items.
            if transitions.rules == nil || refusals.isEmpty && !isSpread { break }
            cascades = try bind(request, &verdicts, rules.limits, audiences)
        }
        if consulted.mayMeet { try consulted.settle(newcomers(of: verdicts), in: zones, facts) }
        restOnItems()
        if let consequences = transitions.rules?.consequences {
            try plan.add(consequences, of: caller.database, by: author, over: facts)
        }
        try transitions.begin(&plan, zones)
        if let rules = transitions.rules {
            neighboursLookedAt = max(neighboursLookedAt, rules.consulted.lookedAt)
        }
        if let grown = try schema?.grown(by: request.saves, verdicts, rules.limits) {
            let change = try SystemChange.schema(from: grown.old, to: grown.new)
            try plan.add(change, of: caller.database, by: author, over: facts)
        }
        for (index, verdict) in verdicts.enumerated() {
            switch verdict {
            case .save:
                let event = try save(index, request, bodyAuthor, &transitions)
                outcomes.append(.event(event))
            case .delete:
                let event = try delete(index, request, bodyAuthor, &transitions)
                outcomes.append(.event(event))
                for item in cascades[index] ?? [] { try cascade(item, &transitions) }
            case .nothingToDo:
                outcomes.append(.nothingToDo)
            case .refused(let error):
                outcomes.append(.refused(error, against: .zero))
            case .conflict:
                let live = items[index].live
                let sight = VersionAccess(access: access, shared: zones.shared)
                let error = try Conflicts(of: request, by: bodyAuthor, rules.line, sight, facts)
                    .error(at: index, against: live)
                outcomes.append(.refused(error, against: live?.sequence ?? .zero))
            }
        }
        if rules.touchesTargets { try touch(request, verdicts, cascades, &transitions) }
        try transitions.finish(&plan, zones, bodyAuthor)
    }

    /// Gives new tags to the targets of references.
    private mutating func touch(
        _ request: ModifyRecordsRequest,
        _ verdicts: [Verdict],
        _ cascades: [Int: [ConsultedItem]],
        _ transitions: inout ShareTransitions
    ) throws(SyncError) {
        let neighbours = Neighbours(zones, facts)
        let touched = try TouchedRecords(by: request, verdicts, items, beside: cascades, neighbours)
        plan.restsOn(touched.consulted)
        neighboursLookedAt = max(neighboursLookedAt, touched.consulted.lookedAt)
        for item in touched.items {
            guard let zone = zones.key(of: item.zone) else { continue }
            // A caller without read access does not change the record's tag either.
            if let body = item.liveBody, try access?.refusal(of: .read, on: body) != nil {
                continue
            }
            try transitions.touch(item, in: zone, as: zones.access(of: item.zone), &plan)
        }
    }

    /// Applies the rules about bindings; returns the records that are deleted with each deletion.
    private mutating func bind(
        _ request: ModifyRecordsRequest,
        _ verdicts: inout [Verdict],
        _ limits: Limits,
        _ audiences: Audiences
    ) throws(SyncError) -> [Int: [ConsultedItem]] {
        guard BindingRules.concern(request, verdicts) else { return [:] }
        var bindings = BindingRules(
            request,
            items,
            limits,
            in: zones,
            Neighbours(zones, facts),
            audiences
        )
        try bindings.settle(&verdicts)
        plan.restsOn(bindings.consulted)
        neighboursLookedAt = max(neighboursLookedAt, bindings.consulted.lookedAt)
        return bindings.cascades
    }

    /// Returns the rules about shares, if the request involves them; cascaded deletions follow the
    /// items.
    private func sharing(
        _ request: ModifyRecordsRequest,
        _ verdicts: [Verdict],
        _ cascades: [Int: [ConsultedItem]],
        _ shares: () -> ShareUpdates,
        _ audiences: Audiences
    ) throws(SyncError) -> SharedHierarchies? {
        // A record that a participant saves must be under a share.
        var concerns =
            !cascades.isEmpty
            || zones.shared != nil
                && items.indices.contains { zones.access(of: items[$0].zone) != nil }
        for (index, verdict) in verdicts.enumerated() where !concerns {
            switch verdict {
            case .save:
                concerns = concernsShares(request.saves, at: index)
            case .delete:
                concerns = items[index].liveBody?.hasToDoWithShares ?? false
            case .nothingToDo, .refused, .conflict:
                break
            }
        }
        if !concerns { return nil }
        let changes: [PlannedChange] = verdicts.enumerated().map { index, verdict in
            switch verdict {
            case .save: .save(request.saves[index], over: items[index].liveBody)
            case .delete: .delete
            case .nothingToDo, .refused, .conflict: .nothing
            }
        }
        // `origin(of:)` and `cascade` rely on this order: the items, then the cascaded records by
        // the index of their root.
        let cascaded = cascades.sorted { $0.key < $1.key }.flatMap(\.value)
        return SharedHierarchies(
            items + cascaded,
            changes + cascaded.map { _ in .delete },
            cascadeCount: cascaded.count,
            in: zones,
            by: shares(),
            Neighbours(zones, facts),
            audiences
        )
    }

    /// Returns the item whose deletion deletes a cascaded record.
    private func origin(of index: Int, _ cascades: [Int: [ConsultedItem]]) -> Int {
        var end = items.count
        if index < end { return index }
        // In the order in which `sharing` appends the cascaded items.
        for (root, cascaded) in cascades.sorted(by: { $0.key < $1.key }) {
            end += cascaded.count
            if index < end { return root }
        }
        return 0
    }

    private var items: [ConsultedItem] { consulted.items }

    /// Reserves space for a commit of new records, so that it is not moved while it grows.
    private mutating func reserveCapacity(for request: ModifyRecordsRequest) {
        outcomes.reserveCapacity(items.count)
        plan.reserveCapacity(
            eventCount: items.count,
            byteCount: request.fieldByteCount
                + request.saves.count * CommitPlan.usualHeaderByteCount
        )
    }

    /// Returns the items that begin a record.
    private func newcomers(of verdicts: [Verdict]) -> [Int] {
        verdicts.indices.filter { index in
            verdicts.isSave(index) && items[index].previousState == nil
        }
    }

    /// Records that the plan depends on the slots of all items.
    private mutating func restOnItems() {
        for index in items.indices {
            plan.restsOn(items[index].slot, in: zones.key(of: items[index].zone))
        }
    }

    /// Returns the verdict on each item, and writes the events along the way if the request is
    /// plain, so that another thread can compress them.
    private mutating func verdicts(
        on request: ModifyRecordsRequest,
        by rules: RecordRules,
        _ audiences: inout Audiences,
        _ author: BodyAuthor
    ) throws(SyncError) -> [Verdict] {
        let saves = request.saves
        isPlain = !rules.touchesTargets && zones.shared == nil
        var verdicts: [Verdict] = []
        verdicts.reserveCapacity(items.count)
        for index in items.indices {
            request.prefetchFields(ofSaveAt: index + 2)
            let isDeletion = index >= saves.count
            // Before the rules about versions: a conflict returns the server's record, which a
            // caller without access must not get.
            if let error = try denial(at: index, isDeletion: isDeletion, &audiences) {
                verdicts.append(.refused(error))
            } else if isDeletion {
                let deletion = request.deletions[index - saves.count]
                verdicts.append(rules.verdict(on: deletion, items[index]))
            } else {
                let isAdmitted = schema?.surelyAdmits(saves, at: index) ?? false
                let verdict = try rules.verdict(
                    on: saves,
                    items,
                    at: index,
                    over: facts,
                    isAdmitted: isAdmitted
                )
                if case .save = verdict,
                    let error = try refusal(of: saves, at: index, rules.limits, isAdmitted)
                {
                    verdicts.append(.refused(error))
                } else {
                    verdicts.append(verdict)
                }
            }
            if isPlain { try saveIfPlain(index, verdicts[index], request, author) }
        }
        return verdicts
    }

    /// The number of events after which complete blocks are handed to the other thread.
    private static let eventCountBetweenBlocks = 16

    /// Writes the event of a save that depends on no other item; any other item makes the request
    /// one that is not plain, and removes what was written.
    private mutating func saveIfPlain(
        _ index: Int,
        _ verdict: Verdict,
        _ request: ModifyRecordsRequest,
        _ author: BodyAuthor
    ) throws(SyncError) {
        guard case .save = verdict, !consulted.mayMeet,
            // A new zone and a larger schema have events of their own, before the records'.
            let zone = zones.key(of: items[index].zone), !(schema?.mayGrow ?? false),
            !items[index].wasBound, !BindingRules.concern(request.saves, at: index),
            !concernsShares(request.saves, at: index)
        else {
            isPlain = false
            plan.removeEvents()
            outcomes.removeAll(keepingCapacity: true)
            return
        }
        try plan.save(items, in: zone, request.saves, at: index, author)
        outcomes.append(.event(index))
        if index % Self.eventCountBetweenBlocks == Self.eventCountBetweenBlocks - 1 {
            plan.draft.compressCompleteBlocks()
        }
    }

    /// Equals `hasToDoWithShares`, of the save and of the version before, without a copy of the
    /// save.
    private func concernsShares(_ saves: [RecordSave], at index: Int) -> Bool {
        saves[index].parent.isSet
            || saves[index].boxedShare.hasContent
            || saves[index].typeName.isShareType
            || items[index].liveBody?.hasToDoWithShares ?? false
    }

    /// Returns the error if the caller may not change an item's record at all; `nil` if the caller
    /// may.
    private func denial(
        at index: Int,
        isDeletion: Bool,
        _ audiences: inout Audiences
    ) throws(SyncError) -> SyncError? {
        let zone = items[index].zone
        // In this order, so that an error does not reveal more of the record than the caller may
        // know (semantics.md, "Roles").
        if let error = zones.error(of: zone) { return error }
        if let access, let body = items[index].liveBody,
            let error = try access.refusal(of: .write, on: body)
        {
            return error
        }
        // Asked first, because a participant's access is a large value.
        if zones.shared == nil { return nil }
        return try zones.access(of: zone)?.refusal(
            ofChanging: items[index],
            in: zones[zone],
            isDeletion: isDeletion,
            &audiences
        )
    }

    /// Returns the error of a save that the rules about records allow; `nil` if the save is valid.
    private mutating func refusal(
        of saves: [RecordSave],
        at index: Int,
        _ limits: Limits,
        _ isAdmitted: Bool
    ) throws(SyncError) -> SyncError? {
        if let access, !items[index].isLive,
            let error = try access.refusal(ofCreating: saves[index].typeName)
        {
            return error
        }
        if let error = plan.assets?.refusals[index] { return error }
        if isAdmitted { return nil }
        // Last, because it takes note of what the schema would need for this save.
        return try schema?.refusal(of: saves, at: index, limits)
    }

    /// Rejects all other items of an atomic zone after one item failed.
    ///
    /// Returns true if an item is rejected that was not before.
    private func spread(_ verdicts: inout [Verdict], _ request: ModifyRecordsRequest) -> Bool {
        var causes: [Int: Int] = [:]
        for (index, verdict) in verdicts.enumerated() {
            let zone = items[index].zone
            switch verdict {
            case .refused, .conflict:
                // In a default zone each item succeeds or fails alone (semantics.md, "Zones").
                if causes[zone] == nil, !zones[zone].identity.isImplicit { causes[zone] = index }
            case .save, .delete, .nothingToDo:
                break
            }
        }
        if causes.isEmpty { return false }
        var isSpread = false
        for (index, verdict) in verdicts.enumerated() {
            // The whole zone fails, deletions of missing records included (semantics.md, "Saving").
            guard let cause = causes[items[index].zone] else { continue }
            switch verdict {
            case .save, .delete, .nothingToDo:
                isSpread = true
                verdicts[index] = .refused(
                    .batchFailed(request.record(at: index), because: request.record(at: cause))
                )
            case .refused, .conflict:
                break
            }
        }
        return isSpread
    }

    // MARK: - Events

    private mutating func save(
        _ index: Int,
        _ request: ModifyRecordsRequest,
        _ author: BodyAuthor,
        _ transitions: inout ShareTransitions
    ) throws(SyncError) -> Int {
        let item = items[index]
        let zone = zoneKey(item.zone)
        if transitions.rules == nil {
            try plan.save(items, in: zone, request.saves, at: index, author)
        } else {
            var save = request.saves[index]
            if let fields = transitions.rules?.fields[index] { save.fields = fields }
            let place = try transitions.pass(item, index, in: zone, &plan)
            try plan.save(
                item,
                in: zone,
                save,
                author,
                share: transitions.rules?.links[index] ?? .unchanged,
                audience: place
            )
        }
        return plan.eventCount - 1
    }

    private mutating func delete(
        _ index: Int,
        _ request: ModifyRecordsRequest,
        _ author: BodyAuthor,
        _ transitions: inout ShareTransitions
    ) throws(SyncError) -> Int {
        let item = items[index]
        let zone = zoneKey(item.zone)
        let place = try transitions.pass(item, index, in: zone, &plan, isDeletion: true)
        // In a shared database, deleting the share's record means leaving: the record stays,
        // without the participant (semantics.md, "Sharing").
        if let leave = transitions.rules?.leaves[index] {
            try plan.save(item, in: zone, leave, author, audience: place)
        } else {
            let type = item.liveBody?.recordTypeBytes ?? []
            let tag = request.deletions[index - request.saves.count].changeTag
            plan.delete(item, in: zone, type: type, holding: tag, audience: place)
        }
        return plan.eventCount - 1
    }

    /// Deletes a record together with a record that it refers to.
    private mutating func cascade(
        _ item: ConsultedItem,
        _ transitions: inout ShareTransitions
    ) throws(SyncError) {
        let zone = zoneKey(item.zone)
        // Deletions are written in the order of their items, as `sharing` appends the cascaded
        // ones. The count therefore gives the item.
        let index = items.count + transitions.cascadedCount
        transitions.cascadedCount += 1
        let place = try transitions.pass(item, index, in: zone, &plan, isDeletion: true)
        let type = item.liveBody?.recordTypeBytes ?? []
        plan.delete(item, in: zone, type: type, holding: nil, audience: place)
    }

    /// Returns the key or placeholder of a zone, after creating the zone if necessary.
    private mutating func zoneKey(_ zone: Int) -> ZoneKey {
        if let key = zones.key(of: zone) ?? createdZones[zone] { return key }
        // At the first event that needs the zone. So a request whose items all fail creates none.
        let key = plan.createZone(zones[zone])
        createdZones[zone] = key
        return key
    }
}

extension ModifyRecordsRequest {
    /// Returns the record of an item: the saves come first, then the deletions.
    package func record(at index: Int) -> RecordID {
        index < saves.count
            ? saves[index].recordID : deletions[index - saves.count].recordID
    }

    /// Returns the name of an item's record.
    package func recordName(at index: Int) -> Name {
        index < saves.count
            ? saves[index].recordID.name : deletions[index - saves.count].recordID.name
    }

    /// Returns true only if the record of an item is in a zone, and always if the item has the same
    /// strings.
    package func isSurely(in zone: ZoneID, at index: Int) -> Bool {
        index < saves.count
            ? saves[index].recordID.zone.hasSameStorage(as: zone)
            : deletions[index - saves.count].recordID.zone.hasSameStorage(as: zone)
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel

/// The effects of bindings between records on a request: required targets, cascading deletions, and
/// rejected deletions.
///
/// A save is rejected if a record that it binds to does not exist afterwards. A deletion is
/// rejected if a remaining record has the deleted one as its parent or as a validating reference's
/// target. A rejection may affect other items, so the rules are repeated until nothing changes;
/// each round rejects more.
struct BindingRules {
    /// The records that are deleted with the deletion at an index.
    private(set) var cascades: [Int: [ConsultedItem]] = [:]

    private let request: ModifyRecordsRequest
    private let items: [ConsultedItem]
    private let limits: Limits
    private let zones: ConsultedZones
    private var neighbours: Neighbours
    private var audiences: Audiences
    /// The index of the item of each record that the request names.
    private let named: [RecordPlace: Int]
    /// The bindings that each save would create.
    private var bindings: [Int: [Name: Binding]] = [:]
    /// The number of references that would delete their record with a target, by target.
    private var deleteSelfCounts: [RecordPlace: Int] = [:]

    /// Returns true if a request involves bindings.
    static func concern(_ request: ModifyRecordsRequest, _ verdicts: [Verdict]) -> Bool {
        verdicts.indices.contains { index in
            switch verdicts[index] {
            case .save: concern(request.saves, at: index)
            case .delete: true
            case .nothingToDo, .refused, .conflict: false
            }
        }
    }

    /// Equals `mayBind`, without a copy of the save.
    static func concern(_ saves: [RecordSave], at index: Int) -> Bool {
        saves[index].parent.isSet
            || saves[index].fields.mayHave(.references) && saves[index].fields.bind
    }

    /// Creates the rules for a request whose records were looked up.
    init(
        _ request: ModifyRecordsRequest,
        _ items: [ConsultedItem],
        _ limits: Limits,
        in zones: ConsultedZones,
        _ neighbours: Neighbours,
        _ audiences: Audiences
    ) {
        self.request = request
        self.items = items
        self.limits = limits
        self.zones = zones
        self.neighbours = neighbours
        self.audiences = audiences
        var named: [RecordPlace: Int] = [:]
        for (index, item) in items.enumerated() { named[RecordPlace(item)] = index }
        self.named = named
    }

    /// The additional records that were read; the plan depends on them.
    var consulted: Neighbours { neighbours }

    /// Rejects invalid items, and finds the records that are deleted with each deletion.
    mutating func settle(_ verdicts: inout [Verdict]) throws(SyncError) {
        // Computed once: the bindings of a save do not depend on the verdicts on other items.
        for index in request.saves.indices {
            guard case .save = verdicts[index] else { continue }
            bindings[index] = try bindingsAfterwards(index)
        }
        while true {
            // Saves first: a rejected save creates no binding that could prevent a deletion.
            try refuseSavesWithoutTargets(&verdicts)
            var refusals = try refusedSaves(verdicts)
            if refusals.isEmpty { refusals = try refusedDeletions(verdicts) }
            if refusals.isEmpty { return }
            for (index, error) in refusals { verdicts[index] = .refused(error) }
        }
    }

    private func recordID(_ index: Int) -> RecordID { request.record(at: index) }

    /// Returns true if a record that the request does not save is hidden from the caller, who then
    /// gets the result for a missing record.
    private mutating func isHidden(_ item: ConsultedItem) throws(SyncError) -> Bool {
        guard let access = zones.access(of: item.zone), let key = zones.key(of: item.zone) else {
            return false
        }
        return !access.mayRead(try audiences.audience(of: ViewKey(zone: key, slot: item.slot)))
    }
}

// MARK: - Saves

extension BindingRules {
    /// Returns the bindings of a saved record after the save.
    private func bindingsAfterwards(_ index: Int) throws(SyncError) -> [Name: Binding]? {
        let save = request.saves[index]
        guard save.mayBind || items[index].wasBound else { return nil }
        return save.body(over: items[index].liveBody).namedBindings
    }

    /// Rejects saves whose targets do not exist, or that the same request would delete, and with them
    /// the saves that are bound to them.
    ///
    /// O(bindings), whatever the order of the saves: in a tree of new records, each is the target of
    /// others.
    private mutating func refuseSavesWithoutTargets(
        _ verdicts: inout [Verdict]
    ) throws(SyncError) {
        var waiting = bindings.keys.sorted()
        var dependents: [RecordPlace: [Int]] = [:]
        for index in waiting {
            for name in (bindings[index] ?? [:]).keys {
                let target = RecordPlace(zone: items[index].zone, name: name)
                if named[target] != nil { dependents[target, default: []].append(index) }
            }
        }
        while let index = waiting.popLast() {
            guard case .save = verdicts[index], let error = try missingTarget(of: index, verdicts)
            else { continue }
            verdicts[index] = .refused(error)
            waiting += dependents[RecordPlace(items[index])] ?? []
        }
    }

    /// Returns the error if a target of a save does not exist, or is deleted by the request.
    private mutating func missingTarget(
        of index: Int,
        _ verdicts: [Verdict]
    ) throws(SyncError) -> SyncError? {
        let targets = (bindings[index] ?? [:]).sorted { $0.key < $1.key }
        let before = items[index].liveBody?.namedBindings ?? [:]
        // All targets, since even an unchanged binding must not lose its target to this request.
        // Existence is checked for new bindings only.
        for (name, _) in targets {
            let target = RecordPlace(zone: items[index].zone, name: name)
            if case .delete? = named[target].map({ verdicts[$0] }) {
                return .targetDeleted(recordID(index), name)
            }
        }
        for (name, binding) in targets where !(before[name] ?? []).isSuperset(of: binding) {
            let target = RecordPlace(zone: items[index].zone, name: name)
            if try !isThere(target, verdicts) { return .targetMissing(recordID(index), name) }
        }
        return nil
    }

    /// Returns the saves with a parent that they must not have, and with too many references.
    private mutating func refusedSaves(
        _ verdicts: [Verdict]
    ) throws(SyncError) -> [(Int, SyncError)] {
        var refusals: [(Int, SyncError)] = []
        var added: [RecordPlace: Int] = [:]
        // In a fixed order: which of two saves exceeds a limit must not depend on the order of a
        // dictionary.
        for (index, targets) in bindings.sorted(by: { $0.key < $1.key }) {
            guard case .save = verdicts[index] else { continue }
            let before = items[index].liveBody?.namedBindings ?? [:]
            do throws(SyncError) {
                let ordered = targets.sorted { $0.key < $1.key }
                let new = ordered.filter { !(before[$0.key] ?? []).isSuperset(of: $0.value) }
                for (name, binding) in new where binding.contains(.parent) {
                    try checkLine(of: index, from: name, verdicts)
                }
                for (name, binding) in new where binding.contains(.deleteSelf) {
                    let target = RecordPlace(zone: items[index].zone, name: name)
                    added[target, default: 0] += 1
                    try checkCount(of: target, adding: added[target] ?? 1, index)
                }
            } catch {
                // A failure to read the store is an error of the request, not a verdict on the
                // item.
                guard error.code != .internalError else { throw error }
                refusals.append((index, error))
            }
        }
        return refusals
    }

    /// Returns true if a target exists for the caller after the request, unless the request deletes
    /// it.
    private mutating func isThere(
        _ target: RecordPlace,
        _ verdicts: [Verdict]
    ) throws(SyncError) -> Bool {
        if let index = named[target] {
            if case .save = verdicts[index] { return true }
            guard items[index].isLive else { return false }
            return try !isHidden(items[index])
        }
        guard let item = try neighbours.item(target), item.isLive else { return false }
        return try !isHidden(item)
    }

    /// Rejects a parent that is a share, the record itself or a descendant, and lines of ancestors
    /// that are too long.
    private mutating func checkLine(
        of index: Int,
        from parent: Name,
        _ verdicts: [Verdict]
    ) throws(SyncError) {
        let zone = items[index].zone
        var next: Name? = parent
        var seen: Set<Name> = []
        // One step more than there may be ancestors, which finds the end of the longest line.
        for _ in 0...limits.ancestorsPerRecord {
            // A cycle further up is rejected if another save of the request closes it.
            guard let name = next, seen.insert(name).inserted else { return }
            if name == items[index].name { throw .parentCycle(recordID(index)) }
            let place = RecordPlace(zone: zone, name: name)
            let isShare: Bool
            if let other = named[place], case .save = verdicts[other] {
                isShare = request.saves[other].isShare
                next = bindings[other]?.first { $0.value.contains(.parent) }?.key
            } else {
                let body = try neighbours.liveBody(of: place)
                isShare = body?.isShare ?? false
                next = body?.parentName.map { Name($0) }
            }
            // A share shows its root's descendants; its own record has no place in the tree.
            if isShare { throw .parentIsShare(recordID(index), name) }
        }
        throw .lineTooLong(recordID(index), limit: limits.ancestorsPerRecord)
    }

    /// Rejects a deletion that cascades to more records than the limit.
    private mutating func checkCount(
        of target: RecordPlace,
        adding count: Int,
        _ index: Int
    ) throws(SyncError) {
        let limit = limits.deleteSelfReferencesPerTarget
        guard try deletedWith(target) + count <= limit else {
            throw .tooManyReferences(recordID(index), target.name, limit: limit)
        }
    }

    /// Returns the number of records whose references would delete them with a target before the
    /// request.
    private mutating func deletedWith(_ target: RecordPlace) throws(SyncError) -> Int {
        if let known = deleteSelfCounts[target] { return known }
        // All of them, because other kinds of bindings may come first in the index.
        let count = try neighbours.referrerCount(of: target, with: .deleteSelf)
        deleteSelfCounts[target] = count
        return count
    }
}

// MARK: - Deletions

extension BindingRules {
    /// Returns the deletions that remaining records prevent, and the saves of records that the
    /// other deletions would delete.
    private mutating func refusedDeletions(
        _ verdicts: [Verdict]
    ) throws(SyncError) -> [(Int, SyncError)] {
        // Made again in each round, because a rejection changes what is deleted.
        cascades = [:]
        var gone: Set<RecordPlace> = []
        var obstacles: [Int: [RecordPlace]] = [:]
        for index in items.indices {
            guard case .delete = verdicts[index] else { continue }
            gone.insert(RecordPlace(items[index]))
        }
        let roots = items.indices.filter { if case .delete = verdicts[$0] { true } else { false } }
        for root in roots {
            var open = [RecordPlace(items[root])]
            while let target = open.popLast() {
                for referrer in try bound(to: target, verdicts) {
                    let place = RecordPlace(referrer.item)
                    // A record that several deletions would delete belongs to the first of them,
                    // and a cycle ends here.
                    if gone.contains(place) { continue }
                    if referrer.binding.contains(.deleteSelf), !referrer.item.isUserRecord {
                        gone.insert(place)
                        cascades[root, default: []].append(referrer.item)
                        open.append(place)
                    } else if referrer.binding != .deleteSelf {
                        obstacles[root, default: []].append(place)
                    }
                }
            }
        }
        var refusals: [(Int, SyncError)] = []
        for (root, places) in obstacles {
            // Judged after all cascades: one of them may delete the record that stands in the way.
            if let staying = places.first(where: { !gone.contains($0) }) {
                var name: Name? = staying.name
                // A caller who may not read the record must not learn its name.
                if let item = try neighbours.item(staying), try isHidden(item) { name = nil }
                refusals.append((root, .stillReferredTo(recordID(root), by: name)))
            }
        }
        if !refusals.isEmpty { return refusals }
        for item in cascades.values.joined() {
            guard let index = named[RecordPlace(item)], case .save = verdicts[index] else {
                continue
            }
            refusals.append((index, .savedAndDeleted(recordID(index))))
        }
        return refusals
    }

    /// Returns the records that are bound to a target after the request's saves.
    private mutating func bound(
        to target: RecordPlace,
        _ verdicts: [Verdict]
    ) throws(SyncError) -> [(item: ConsultedItem, binding: Binding)] {
        var bound: [(item: ConsultedItem, binding: Binding)] = []
        for (item, stored) in try neighbours.sources(of: target) {
            // The index has the bindings before the request. A record that is saved counts by its
            // new bindings, below.
            if let index = named[RecordPlace(item)], case .save = verdicts[index] { continue }
            bound.append((item, stored))
        }
        // In the order of the items, because an error names the first of them.
        for index in items.indices where items[index].zone == target.zone {
            guard case .save = verdicts[index], let binding = bindings[index]?[target.name] else {
                continue
            }
            bound.append((items[index], binding))
        }
        return bound
    }
}

extension RecordSave {
    /// True if the save may bind its record to another one.
    var mayBind: Bool { parent.isSet || fields.bind }

    /// Returns the record's parent after its save replaces a version.
    func parentName(over old: RecordBody?) -> Name? { parent.name(over: old) }

    /// Returns the record's content after its save replaces a version; times and users are not set.
    func body(over old: RecordBody?) -> RecordBody {
        // Only the targets and the size of this body are read, so the authors, times and stamps in it
        // do not matter.
        let nobody = Authorship(time: 0, user: nil)
        return RecordBody(
            RecordHeader(
                recordName: Name(recordID.recordName),
                recordType: Name(recordType),
                created: nobody,
                modified: nobody,
                parentName: parentName(over: old)
            ),
            setting: fields,
            extent: policy.extent,
            over: old,
            of: 1
        )
    }
}

extension ParentChange {
    /// Returns the name of the record's parent after its save replaces a version.
    func name(over old: RecordBody?) -> Name? {
        switch self {
        case .unchanged: old?.parentName.map { Name($0) }
        case .set(let name): name
        case .removed: nil
        }
    }
}

extension Fields {
    /// True if a reference binds the record to another one.
    var bind: Bool {
        guard hasReferences else { return false }
        var bind = false
        visitBindings { _, _ in bind = true }
        return bind
    }
}

extension RecordBody {
    /// The record's bindings, by name.
    var namedBindings: [Name: Binding] {
        var bindings: [Name: Binding] = [:]
        visitBindings { name, binding in
            let name = name.withUnsafeBytes { Name(String(decoding: $0, as: UTF8.self)) }
            bindings[name, default: []].formUnion(binding)
        }
        return bindings
    }
}

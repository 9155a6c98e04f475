// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Tidemark
import TidemarkModel

/// The rules about zones and records, said once more with plain dictionaries.
///
/// Written from the reference, not from the engine: it knows nothing of slots, logs or views. Every
/// accepted change gets the next number; a delta after a number is what changed since, each record
/// once, by its last change.
struct RulesModel {
    struct Version: Equatable {
        var number: Int
        /// `nil` for a deletion.
        var fields: [String: Int64]?
        var created: Int
        /// The number of the change that last set or removed each field.
        var stamps: [String: Int] = [:]
        /// What the record is bound to, and how.
        var bindings: Set<Bond> = []
    }

    /// A record's tie to another one of its zone.
    struct Bond: Hashable {
        enum Kind: Hashable { case none, deleteSelf, validate, parent }
        var target: String
        var kind: Kind

        /// Whether the target has to be there.
        var binds: Bool { kind != .none }
    }

    struct Zone {
        var epoch: Int
        var records: [String: Version] = [:]
    }

    var zones: [String: Zone] = [:]
    /// Whether what is referred to gets new versions, as in CloudKit.
    var isStrict = false
    /// On which device is changed what is changed next.
    var device = ""
    /// On which devices records of a name came into being, by the zone's epoch and the name.
    private var makers: [Int: [String: Set<String>]] = [:]
    private(set) var lastNumber = 0
    /// Every version that a record ever had, by its number.
    private var history: [Int: (zone: Int, name: String, created: Int)] = [:]

    mutating func nextNumber() -> Int {
        lastNumber += 1
        return lastNumber
    }

    mutating func createZone(_ name: String) {
        if zones[name] == nil { zones[name] = Zone(epoch: nextNumber()) }
    }

    mutating func deleteZone(_ name: String) -> SyncError.Code? {
        guard zones.removeValue(forKey: name) != nil else { return .zoneNotFound }
        _ = nextNumber()
        return nil
    }

    struct Save {
        var name: String
        /// Fields to set, and with `nil` to remove.
        var fields: [String: Int64?]
        /// The number of the version that the client holds; `nil` for none.
        var held: Int?
        var policy: SavePolicy
        /// The references to set, of any action; `nil` says nothing about them.
        var links: Set<Bond>?
        var parent: ParentChange = .unchanged
    }

    struct Deletion {
        var name: String
        var held: Int?
    }

    /// What other rules say beside those of records and their ties.
    struct Guards {
        /// Why somebody may not change a record that is there, whatever they know of it.
        var refusal: (_ name: String, _ isDeletion: Bool) -> SyncError.Code? = { _, _ in nil }
        /// Whether a record is not shown to somebody, so that nothing of theirs can be bound to it anew.
        var isHidden: (_ name: String) -> Bool = { _ in false }
        /// Whether a record can have others below it.
        var canBeParent: (_ name: String) -> Bool = { _ in true }
        /// What is wrong with saves and deletions once the request is done, by what each record is
        /// bound to then, and which are gone.
        var problems:
            (_ after: [String: Set<Bond>], _ saved: [String], _ gone: Set<String>) -> [String:
                SyncError.Code] = { _, _, _ in [:] }
    }

    /// What a request is answered: for each item its error, if it has one.
    mutating func modify(
        _ saves: [Save],
        _ deletions: [Deletion],
        in zoneName: String,
        isAtomic: Bool,
        by guards: Guards = Guards()
    ) -> [SyncError.Code?] {
        guard zones[zoneName] != nil || zoneName == "_defaultZone" else {
            return Array(repeating: .zoneNotFound, count: saves.count + deletions.count)
        }
        func refusal(_ name: String, _ isDeletion: Bool) -> SyncError.Code? {
            live(name, in: zoneName) == nil ? nil : guards.refusal(name, isDeletion)
        }
        var codes = saves.map { refusal($0.name, false) ?? code(of: $0, in: zoneName) }
        codes += deletions.map { refusal($0.name, true) ?? code(of: $0, in: zoneName) }
        while true {
            settle(saves, deletions, in: zoneName, &codes, guards)
            let problems = problems(saves, deletions, in: zoneName, codes, guards)
            if problems.isEmpty { break }
            for (index, name) in (saves.map(\.name) + deletions.map(\.name)).enumerated()
            where codes[index] == nil {
                codes[index] = problems[name]
            }
        }
        if isAtomic, zoneName != "_defaultZone", codes.contains(where: { $0 != nil }) {
            return codes.map { $0 ?? .batchRequestFailed }
        }
        let touched = isStrict ? touched(by: saves, codes, in: zoneName) : []
        for (save, code) in zip(saves, codes) where code == nil {
            if zones[zoneName] == nil { zones[zoneName] = Zone(epoch: nextNumber()) }
            apply(save, in: zoneName)
        }
        let accepted = zip(deletions, codes.dropFirst(saves.count)).filter { $0.1 == nil }
        for name in accepted.map(\.0.name) {
            guard live(name, in: zoneName) != nil else { continue }
            for gone in closure(of: name, live(in: zoneName)).sorted() {
                let number = nextNumber()
                let created = zones[zoneName]?.records[gone]?.created ?? number
                zones[zoneName]?.records[gone] = Version(
                    number: number,
                    fields: nil,
                    created: created
                )
            }
        }
        for name in touched.sorted() { touch(name, in: zoneName) }
        return codes
    }

    /// What saves come to refer to, and the parents of what is saved.
    private func touched(
        by saves: [Save],
        _ codes: [SyncError.Code?],
        in zone: String
    ) -> Set<String> {
        var touched: Set<String> = []
        for (save, code) in zip(saves, codes) where code == nil {
            let before = (live(save.name, in: zone)?.bindings ?? []).filter { $0.kind != .parent }
            let after = bindings(of: save, in: zone)
            let links = after.filter { $0.kind != .parent }
            touched.formUnion(Set(links.map(\.target)).subtracting(before.map(\.target)))
            touched.formUnion(after.filter { $0.kind == .parent }.map(\.target))
        }
        return touched.subtracting(zip(saves, codes).filter { $0.1 == nil }.map(\.0.name))
    }

    private func problems(
        _ saves: [Save],
        _ deletions: [Deletion],
        in zone: String,
        _ codes: [SyncError.Code?],
        _ guards: Guards
    ) -> [String: SyncError.Code] {
        let stored = live(in: zone)
        var after = stored
        var saved: [String] = []
        for (save, code) in zip(saves, codes) where code == nil {
            after[save.name] = bindings(of: save, in: zone)
            saved.append(save.name)
        }
        var gone: Set<String> = []
        for (deletion, code) in zip(deletions, codes.dropFirst(saves.count))
        where code == nil && stored[deletion.name] != nil {
            gone.formUnion(closure(of: deletion.name, after))
        }
        return guards.problems(after.filter { !gone.contains($0.key) }, saved, gone)
    }

    // MARK: What other rules change

    /// Gives a record a new version that is the same but for its number.
    mutating func touch(_ name: String, in zone: String) {
        guard var version = live(name, in: zone) else { return }
        version.number = nextNumber()
        zones[zone]?.records[name] = version
        history[version.number] = (zones[zone]?.epoch ?? 0, name, version.created)
    }

    /// Makes a record without fields.
    mutating func add(_ name: String, in zone: String) {
        let number = nextNumber()
        zones[zone]?.records[name] = Version(number: number, fields: [:], created: number)
        history[number] = (zones[zone]?.epoch ?? 0, name, number)
    }

    /// Deletes a record, whatever is bound to it.
    mutating func drop(_ name: String, in zone: String) {
        guard let old = live(name, in: zone) else { return }
        let gone = Version(number: nextNumber(), fields: nil, created: old.created)
        zones[zone]?.records[name] = gone
    }

    /// What each record that is there is bound to.
    func live(in zone: String) -> [String: Set<Bond>] {
        (zones[zone]?.records ?? [:]).filter { $0.value.fields != nil }.mapValues(\.bindings)
    }

    /// A record and all that is deleted with it.
    private func closure(of root: String, _ records: [String: Set<Bond>]) -> Set<String> {
        var gone: Set<String> = [root]
        while true {
            let more = records.filter { name, bonds in
                !gone.contains(name)
                    && bonds.contains { $0.kind == .deleteSelf && gone.contains($0.target) }
            }
            if more.isEmpty { return gone }
            gone.formUnion(more.keys)
        }
    }

    private func bindings(of save: Save, in zone: String) -> Set<Bond> {
        let old = live(save.name, in: zone)?.bindings ?? []
        let isWhole = save.policy == .replace || save.policy == .replaceIfUnchanged
        var bonds = save.links ?? (isWhole ? [] : old.filter { $0.kind != .parent })
        switch save.parent {
        case .unchanged: bonds.formUnion(old.filter { $0.kind == .parent })
        case .set(let name): bonds.insert(Bond(target: name.string, kind: .parent))
        case .removed: break
        }
        return bonds
    }

    /// Refuses what ties between records forbid, until nothing more has to be refused: saves first,
    /// since what becomes of deletions depends on them.
    private func settle(
        _ saves: [Save],
        _ deletions: [Deletion],
        in zone: String,
        _ codes: inout [SyncError.Code?],
        _ guards: Guards
    ) {
        while true {
            let before = codes
            let stored = live(in: zone)
            let saving = saves.indices.filter { codes[$0] == nil }
            let deleting = deletions.indices.filter {
                codes[saves.count + $0] == nil && stored[deletions[$0].name] != nil
            }
            let roots = Set(deleting.map { deletions[$0].name })
            var after = stored
            for index in saving { after[saves[index].name] = bindings(of: saves[index], in: zone) }
            let saved = Set(saving.map { saves[$0].name })
            for index in saving {
                codes[index] = problem(saves[index].name, after, stored, roots, saved, guards)
            }
            if codes != before { continue }
            let gone = roots.reduce(into: Set<String>()) { $0.formUnion(closure(of: $1, after)) }
            for index in deleting {
                let mine = closure(of: deletions[index].name, after)
                let isHeld = after.contains { name, bonds in
                    !gone.contains(name)
                        && bonds.contains {
                            $0.binds && $0.kind != .deleteSelf && mine.contains($0.target)
                        }
                }
                if isHeld { codes[saves.count + index] = .referenceViolation }
            }
            if codes != before { continue }
            for index in saving where gone.contains(saves[index].name) {
                codes[index] = .referenceViolation
            }
            if codes == before { return }
        }
    }

    /// What is wrong with the ties of a record that is saved.
    private func problem(
        _ name: String,
        _ after: [String: Set<Bond>],
        _ stored: [String: Set<Bond>],
        _ roots: Set<String>,
        _ saved: Set<String>,
        _ guards: Guards
    ) -> SyncError.Code? {
        let bonds = (after[name] ?? []).filter(\.binds)
        if bonds.contains(where: { roots.contains($0.target) }) { return .referenceViolation }
        let new = bonds.subtracting(stored[name] ?? [])
        func isThere(_ target: String) -> Bool {
            after[target] != nil && (saved.contains(target) || !guards.isHidden(target))
        }
        if new.contains(where: { !isThere($0.target) }) { return .referenceViolation }
        guard new.contains(where: { $0.kind == .parent }) else { return nil }
        var next = bonds.first { $0.kind == .parent }?.target
        if let next, !guards.canBeParent(next) { return .invalidArguments }
        var steps = 0
        while let place = next, steps < 1_000 {
            if place == name { return .invalidArguments }
            next = after[place]?.first { $0.kind == .parent }?.target
            steps += 1
        }
        return nil
    }

    func live(_ name: String, in zone: String) -> Version? {
        zones[zone]?.records[name].flatMap { $0.fields == nil ? nil : $0 }
    }

    private func code(of save: Save, in zone: String) -> SyncError.Code? {
        guard let old = live(save.name, in: zone) else {
            return save.held != nil && save.policy != .replace ? .unknownItem : nil
        }
        switch save.policy {
        case .changedKeys, .allKeys, .replace:
            return nil
        case .ifServerRecordUnchanged, .replaceIfUnchanged:
            return save.held == old.number ? nil : .serverRecordChanged
        case .merge:
            guard let held = save.held, let ancestor = history[held],
                ancestor == (zones[zone]?.epoch ?? 0, save.name, old.created),
                save.fields.keys.allSatisfy({ old.stamps[$0, default: 0] <= held })
            else { return .serverRecordChanged }
            return nil
        }
    }

    private func code(of deletion: Deletion, in zone: String) -> SyncError.Code? {
        guard let old = live(deletion.name, in: zone), let held = deletion.held else { return nil }
        return held == old.number ? nil : .serverRecordChanged
    }

    private mutating func apply(_ save: Save, in zone: String) {
        let old = live(save.name, in: zone)
        let isWhole = save.policy == .replace || save.policy == .replaceIfUnchanged
        let before = old?.fields ?? [:]
        var fields = isWhole ? [:] : before
        for (name, value) in save.fields { fields[name] = value }
        let number = nextNumber()
        var stamps = old?.stamps ?? [:]
        for name in Set(save.fields.keys).union(before.keys) {
            // Who names a field means it; who replaces a record means what is different.
            let isMeant = isWhole ? fields[name] != before[name] : save.fields[name] != nil
            let isThere = fields[name] != nil || before[name] != nil
            if isMeant, isThere { stamps[name] = number }
        }
        let version = Version(
            number: number,
            fields: fields,
            created: old?.created ?? number,
            stamps: stamps,
            bindings: bindings(of: save, in: zone)
        )
        if old == nil, let epoch = zones[zone]?.epoch {
            makers[epoch, default: [:]][save.name, default: []].insert(device)
        }
        zones[zone]?.records[save.name] = version
        history[number] = (zones[zone]?.epoch ?? 0, save.name, version.created)
    }

    /// What changed in a zone after a number, oldest first; `nil` fields are a deletion.
    ///
    /// Deletions up to `quiet` are left out, but of names under which one device made a record.
    func delta(
        of zone: String,
        after number: Int,
        quiet: Int = 0,
        madeBy device: String? = nil
    ) -> [(name: String, version: Version)] {
        let ofZone = zones[zone].flatMap { makers[$0.epoch] } ?? [:]
        let own = device.map { device in ofZone.filter { $0.value.contains(device) } } ?? [:]
        return (zones[zone]?.records ?? [:])
            .filter { $0.value.number > number }
            .filter {
                $0.value.fields != nil || $0.value.number > quiet || own[$0.key] != nil
            }
            .map { (name: $0.key, version: $0.value) }
            .sorted { $0.version.number < $1.version.number }
    }
}

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
    }

    struct Zone {
        var epoch: Int
        var records: [String: Version] = [:]
    }

    var zones: [String: Zone] = [:]
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
    }

    struct Deletion {
        var name: String
        var held: Int?
    }

    /// What a request is answered: for each item its error, if it has one.
    mutating func modify(
        _ saves: [Save],
        _ deletions: [Deletion],
        in zoneName: String,
        isAtomic: Bool
    ) -> [SyncError.Code?] {
        guard zones[zoneName] != nil || zoneName == "_defaultZone" else {
            return Array(repeating: .zoneNotFound, count: saves.count + deletions.count)
        }
        var codes = saves.map { code(of: $0, in: zoneName) }
        codes += deletions.map { code(of: $0, in: zoneName) }
        if isAtomic, zoneName != "_defaultZone", codes.contains(where: { $0 != nil }) {
            return codes.map { $0 ?? .batchRequestFailed }
        }
        for (save, code) in zip(saves, codes) where code == nil {
            if zones[zoneName] == nil { zones[zoneName] = Zone(epoch: nextNumber()) }
            apply(save, in: zoneName)
        }
        for (deletion, code) in zip(deletions, codes.dropFirst(saves.count)) where code == nil {
            guard let old = zones[zoneName]?.records[deletion.name], old.fields != nil else {
                continue
            }
            let number = nextNumber()
            zones[zoneName]?.records[deletion.name] = Version(
                number: number,
                fields: nil,
                created: old.created
            )
        }
        return codes
    }

    private func live(_ name: String, in zone: String) -> Version? {
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
            stamps: stamps
        )
        zones[zone]?.records[save.name] = version
        history[number] = (zones[zone]?.epoch ?? 0, save.name, version.created)
    }

    /// What changed in a zone after a number, oldest first; `nil` fields are a deletion.
    func delta(
        of zone: String,
        after number: Int,
        quiet: Int = 0
    ) -> [(name: String, version: Version)] {
        (zones[zone]?.records ?? [:])
            .filter { $0.value.number > number }
            .filter { $0.value.fields != nil || $0.value.number > quiet }
            .map { (name: $0.key, version: $0.value) }
            .sorted { $0.version.number < $1.version.number }
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import GeneratedQueries
import TestSupport
import Testing
import Tidemark
import TidemarkEvents
import TidemarkLog
import TidemarkModel

/// A store that lives through requests made from a seed, and what plain dictionaries remember of them.
///
/// What is remembered comes from the requests and from the positions in their answers alone.
struct LivedStore {
    /// A field's value, and the position of the event that set it.
    struct Value: Equatable {
        var value: FieldValue
        var sequence: UInt64
    }

    /// One thing that happened to a record.
    struct Moment: Equatable {
        var sequence: UInt64
        var happening: PastKind
        var user: String
        var device: String?
        var build: String?
        var request: String?
        /// The fields after it.
        var fields: [String: Value] = [:]
        /// What was set, and what was removed.
        var set: [String: FieldValue] = [:]
        var removed: Set<String> = []
        /// The fields before it.
        var before: [String: FieldValue] = [:]
    }

    enum PastKind: String {
        case created, changed, deleted, zoneDeleted
    }

    let store: Store
    /// What happened to each record, by zone and name, oldest first.
    private(set) var moments: [RecordID: [Moment]] = [:]
    /// The positions at which requests had been answered.
    private(set) var positions: [UInt64] = [0]
    private var random: SeededGenerator
    private var lastZone: [ZoneID: Bool] = [:]

    static let zones = ["a", "b"].map { ZoneID(zoneName: $0) }

    init(at path: String, seed: UInt64) throws {
        var options = StoreOptions()
        options.checksSchema = false
        // Small, so that what is read lies in the index, in memory and in several segments.
        options.checkpointEventCount = 64
        options.segmentByteCount = 64 << 10
        store = try Store.open(at: path, access: .creating, options: options)
        random = SeededGenerator(seed: seed)
    }

    /// Lives through so many requests.
    mutating func live(_ count: Int) async throws {
        for number in 0..<count {
            var caller = Caller(
                database: .standard,
                user: UserID("u-\(Int.random(in: 0..<3, using: &random))"),
                device: Bool.random(using: &random) ? "phone" : nil,
                build: number % 3 == 0 ? "\(number / 50)" : nil
            )
            caller.database = .standard
            caller.requestID = number % 4 == 0 ? "request-\(number)" : nil
            let zone = Self.zones.randomElement(using: &random) ?? .default
            if lastZone[zone] != true {
                try await createZone(zone, caller)
            } else if Int.random(in: 0..<20, using: &random) == 0 {
                try await deleteZone(zone, caller)
            } else {
                try await modify(zone, caller, number)
            }
            positions.append(store.lastSequence.rawValue)
        }
    }

    private mutating func createZone(_ zone: ZoneID, _ caller: Caller) async throws {
        let result = try await store.modifyZones(ModifyZonesRequest(saves: [zone]), as: caller)
        for zone in result.saves { _ = try zone.get() }
        lastZone[zone] = true
    }

    private mutating func deleteZone(_ zone: ZoneID, _ caller: Caller) async throws {
        let request = ModifyZonesRequest(deletions: [zone])
        for zone in try await store.modifyZones(request, as: caller).deletions {
            _ = try zone.get()
        }
        lastZone[zone] = false
        let sequence = store.lastSequence.rawValue
        for (id, moments) in moments where id.zone == zone {
            guard let last = moments.last, !last.isGone else { continue }
            self.moments[id]?.append(Moment(sequence, .zoneDeleted, caller))
        }
    }

    private mutating func modify(_ zone: ZoneID, _ caller: Caller, _ number: Int) async throws {
        var saves: [RecordSave] = []
        var deletions: [RecordDeletion] = []
        var names = (0..<12).map { "record \($0)" }.shuffled(using: &random)
        for _ in 0..<Int.random(in: 1...4, using: &random) {
            let id = RecordID(recordName: names.removeLast(), zone: zone)
            let isThere = moments[id]?.last.map { !$0.isGone } ?? false
            if isThere, Int.random(in: 0..<5, using: &random) == 0 {
                deletions.append(RecordDeletion(id))
            } else {
                saves.append(try save(id, number))
            }
        }
        let request = ModifyRecordsRequest(saves: saves, deletions: deletions)
        let result = try await store.modifyRecords(request, as: caller)
        for (save, saved) in zip(saves, result.saves) {
            remember(save, TagContent(try #require(try saved.get().changeTag)), caller)
        }
        // Saves come first in a commit, and deletions after them.
        let last = store.lastSequence.rawValue
        for (index, deletion) in deletions.enumerated() {
            _ = try result.deletions[index].get()
            let sequence = last - UInt64(deletions.count - 1 - index)
            var moment = Moment(sequence, .deleted, caller)
            moment.before = moments[deletion.recordID]?.last?.fields.mapValues(\.value) ?? [:]
            moment.removed = Set(moment.before.keys)
            moments[deletion.recordID, default: []].append(moment)
        }
    }

    private mutating func save(_ id: RecordID, _ number: Int) throws -> RecordSave {
        var builder = FieldsBuilder()
        for name in ["count", "list", "text", "title"] where Bool.random(using: &random) {
            // Few values, so that fields are often set to what they are.
            let value = Int64.random(in: 0..<3, using: &random)
            switch (name, Int.random(in: 0..<6, using: &random)) {
            case (_, 0): try builder.set(name, nil)
            case ("count", _): try builder.set(name, .int64(value))
            case ("list", _): try builder.set(name, .int64List([1, value, 3]))
            default: try builder.set(name, .string("first\nline \(value)\nlast"))
            }
        }
        try builder.set("number", .int64(Int64(number)))
        let policies: [SavePolicy] = [.changedKeys, .allKeys, .replace]
        return RecordSave(
            id,
            type: "Note",
            fields: try builder.finish(),
            policy: policies.randomElement(using: &random) ?? .changedKeys
        )
    }

    private mutating func remember(_ save: RecordSave, _ tag: TagContent?, _ caller: Caller) {
        let sequence = tag?.sequence.rawValue ?? 0
        let last = moments[save.recordID]?.last
        let old = last.map { $0.isGone ? [:] : $0.fields } ?? [:]
        let isThere = last.map { !$0.isGone } ?? false
        var moment = Moment(sequence, isThere ? .changed : .created, caller)
        moment.before = old.mapValues(\.value)
        moment.fields = old
        let replaces = save.policy == .replace
        if replaces {
            for name in old.keys where save.fields.index(of: name) == nil {
                moment.fields[name] = nil
                moment.removed.insert(name)
            }
        }
        for field in save.fields {
            guard let value = field.value else {
                if moment.fields.removeValue(forKey: field.name) != nil {
                    moment.removed.insert(field.name)
                }
                continue
            }
            // Who sends a whole record says nothing about a field that stays as it was.
            if replaces, old[field.name]?.value == value { continue }
            moment.fields[field.name] = Value(value: value, sequence: sequence)
            moment.set[field.name] = value
        }
        moments[save.recordID, default: []].append(moment)
    }

    /// What there was after an event: fields by record.
    func state(asOf position: UInt64 = .max) -> [RecordID: [String: FieldValue]] {
        moments.compactMapValues { moments in
            guard let last = moments.last(where: { $0.sequence <= position }), !last.isGone else {
                return nil
            }
            return last.fields.mapValues(\.value)
        }
    }
}

extension LivedStore.Moment {
    init(_ sequence: UInt64, _ happening: LivedStore.PastKind, _ caller: Caller) {
        self.sequence = sequence
        self.happening = happening
        user = caller.user?.userRecordName ?? ""
        device = caller.device
        build = caller.build
        request = caller.requestID
    }

    /// Whether the record was not there after it.
    var isGone: Bool { happening == .deleted || happening == .zoneDeleted }
}

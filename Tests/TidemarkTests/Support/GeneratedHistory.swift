// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Tidemark
import TidemarkLog
import TidemarkModel

/// A change stream made from a seed, and what an independent fold makes of it.
struct GeneratedHistory {
    /// A record as the fold keeps it.
    struct Folded: Equatable {
        var type: String
        var fields: [String: FieldValue]
        var created: Int64
        var modified: Int64
        var modifiedBy: String
    }

    /// Records by zone and name.
    typealias State = [String: [String: Folded]]

    var lines: [ChangeStreamLine] = []

    /// Makes lines of one to eight changes over a few zones and many names, some in odd scripts;
    /// a record may come twice in a line, and zones end and begin again.
    init(seed: UInt64, lineCount: Int, namesPerZone: Int = 40) throws {
        var random = SeededGenerator(seed: seed)
        var time: Int64 = 1_400_000_000_000
        for number in 0..<lineCount {
            time += Int64.random(in: 0...5_000, using: &random)
            var changes: [ChangeStreamLine.Change] = []
            for _ in 0..<Int.random(in: 1...8, using: &random) {
                changes.append(try Self.change(&random, number: number, namesPerZone: namesPerZone))
            }
            lines.append(
                ChangeStreamLine(
                    time: time,
                    user: UserID("u-\(Int.random(in: 0..<5, using: &random))"),
                    device: Bool.random(using: &random) ? "phone" : nil,
                    build: number % 3 == 0 ? "7" : nil,
                    requestID: number % 10 == 0 ? "request-\(number)" : nil,
                    changes: changes
                )
            )
        }
    }

    private static func change(
        _ random: inout SeededGenerator,
        number: Int,
        namesPerZone: Int
    ) throws -> ChangeStreamLine.Change {
        let zone = ZoneID(
            zoneName: ["a", "b", "ü", "_defaultZone"].randomElement(using: &random) ?? "a"
        )
        let id = RecordID(
            recordName: "\(["n", "é", "e\u{301}"].randomElement(using: &random) ?? "n")"
                + "\(Int.random(in: 0..<namesPerZone, using: &random))",
            zone: zone
        )
        switch Int.random(in: 0..<100, using: &random) {
        case 0 where !zone.isDefault: return .deleteZone(zone)
        case 1 where !zone.isDefault: return .createZone(zone)
        case 2..<25: return .delete(id)
        default:
            var builder = FieldsBuilder()
            try builder.set("number", .int64(Int64(number)))
            if Bool.random(using: &random) { try builder.set("text", .string("text of \(number)")) }
            if Bool.random(using: &random) {
                try builder.set("list", .stringList(["x", "y\(number)"]))
            }
            return .save(recordID: id, recordType: "Note", fields: try builder.finish())
        }
    }

    /// What the first lines make, by plain dictionaries.
    func fold(first count: Int) -> State {
        var state: State = [:]
        for line in lines.prefix(count) {
            for change in line.changes {
                switch change {
                case .save(let id, let type, let fields, _):
                    var values: [String: FieldValue] = [:]
                    for field in fields { values[field.name] = field.value }
                    let old = state[id.zone.zoneName]?[Self.key(id)]
                    state[id.zone.zoneName, default: [:]][Self.key(id)] = Folded(
                        type: type.string,
                        fields: values,
                        created: old?.created ?? line.time,
                        modified: line.time,
                        modifiedBy: line.user.userRecordName
                    )
                case .delete(let id):
                    state[id.zone.zoneName]?[Self.key(id)] = nil
                case .createZone:
                    break
                case .deleteZone(let zone, _):
                    state[zone.zoneName] = nil
                }
            }
        }
        return state.filter { !$0.value.isEmpty }
    }

    /// A record's name as the hexadecimal digits of its bytes: strings are equal by Unicode's rules,
    /// names are not.
    static func key(_ id: RecordID) -> String {
        id.recordName.utf8.map { String($0, radix: 16) }.joined(separator: ".")
    }

    /// What a store shows, in the same form.
    static func state(of store: Store, asOf position: SequenceNumber? = nil) throws -> State {
        var state: State = [:]
        try store.visitRecords(of: .standard, asOf: position) { record in
            var values: [String: FieldValue] = [:]
            for field in record.fields where !field.isRemoved { values[field.name] = field.value }
            state[record.zone.zoneName, default: [:]][key(record.recordID)] = Folded(
                type: record.recordType,
                fields: values,
                created: record.created.time,
                modified: record.modified.time,
                modifiedBy: record.modified.user?.userRecordName ?? ""
            )
            return true
        }
        return state
    }
}

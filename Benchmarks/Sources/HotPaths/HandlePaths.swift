// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Tidemark
import TidemarkModel

extension HotPath {
    /// Records of ten fields as values of a Swift type, through handles, beside the same by requests and accessors
    /// that are written by hand.
    static let handles = [
        saveByHand, saveTyped, fetchByHand, fetchTyped, decodeByHand, decodeTyped,
    ]

    /// Ten fields, as most records have them.
    fileprivate struct Chore: RecordCodable {
        static let recordType = "Chore"
        enum State: String, Codable { case open, done }

        var id: RecordName
        var title = "Water the roses behind the house"
        var notes: String? = "Not at noon, and not from above."
        var state = State.open
        var due: Date? = Date(timeIntervalSince1970: 1_800_000_000)
        var priority = 3
        var weight = 1.5
        var isPinned = true
        var tags = ["garden", "summer"]
        var list: Reference? = Reference(recordName: "list")
        var place: Location? = Location(latitude: 48.2, longitude: 16.4)
    }

    /// Saves a new record in a request of its own, its fields set one by one.
    private static let saveByHand = saving("handles.save.byHand") { zone, chore in
        var builder = FieldsBuilder()
        try builder.set("title", .string(chore.title))
        try builder.set("notes", chore.notes.map { .string($0) })
        try builder.set("state", .string(chore.state.rawValue))
        try builder.set("due", chore.due.map { .date($0) })
        try builder.set("priority", .int64(Int64(chore.priority)))
        try builder.set("weight", .double(chore.weight))
        try builder.set("isPinned", .int64(chore.isPinned ? 1 : 0))
        try builder.set("tags", .stringList(chore.tags))
        try builder.set("list", chore.list.map { .reference($0) })
        try builder.set("place", chore.place.map { .location($0) })
        let id = RecordID(recordName: chore.id.text, zone: zone.id)
        let save = RecordSave(id, type: Chore.recordType, fields: try builder.finish())
        let request = ModifyRecordsRequest(saves: [save])
        let store = zone.database.service
        _ = try await store.modifyRecords(request, as: zone.database.caller).saves[0].get()
    }

    /// The same as a value.
    private static let saveTyped = saving("handles.save.typed") { zone, chore in
        try await zone.save(chore)
    }

    private static func saving(
        _ name: String,
        _ save: @escaping @Sendable (ZoneHandle, Chore) async throws -> Void
    ) -> HotPath {
        HotPath(name: name) { _ in
            let store = try ScratchStore()
            var next = 0
            return Prepared { count in
                let numbers = next..<next + count
                next += count
                try blocking {
                    let zone = store.store.database().zone(ScratchStore.zone)
                    for number in numbers { try await save(zone, Chore(id: "chore-\(number)")) }
                }
            }
        }
    }

    /// Fetches a record, and reads its fields one by one.
    private static let fetchByHand = fetching("handles.fetch.byHand") { zone in
        let request = FetchRecordsRequest([RecordID(recordName: "chore", zone: zone.id)])
        let store = zone.database.service
        let records = try await store.fetchRecords(request, as: zone.database.caller)
        return try read(try records[0].get())
    }

    /// The same as a value.
    private static let fetchTyped = fetching("handles.fetch.typed") { zone in
        try await zone.fetch(Chore.self, "chore").value
    }

    private static func fetching(
        _ name: String,
        _ fetch: @escaping @Sendable (ZoneHandle) async throws -> Chore
    ) -> HotPath {
        HotPath(name: name) { _ in
            let store = try ScratchStore()
            let zone = store.store.database().zone(ScratchStore.zone)
            _ = try blocking { try await zone.save(Chore(id: "chore")) }
            return Prepared { count in
                try blocking {
                    let zone = store.store.database().zone(ScratchStore.zone)
                    for _ in 0..<count { try demand(try await fetch(zone).priority == 3) }
                }
            }
        }
    }

    /// Reads the fields of a record one by one, without fetching it.
    private static let decodeByHand = decoding("handles.decode.byHand") { try read($0) }

    /// The same as a value.
    private static let decodeTyped = decoding("handles.decode.typed") { try Chore($0) }

    private static func decoding(
        _ name: String,
        _ decode: @escaping @Sendable (Record) throws -> Chore
    ) -> HotPath {
        HotPath(name: name) { _ in
            let store = try ScratchStore()
            let zone = store.store.database().zone(ScratchStore.zone)
            let record = try blocking { try await zone.save(Chore(id: "chore")).record }
            return Prepared { count in
                for _ in 0..<count { try demand(try decode(record).priority == 3) }
            }
        }
    }

    @Sendable private static func read(_ record: Record) throws -> Chore {
        var chore = Chore(id: RecordName(record.recordID.recordName))
        guard case .string(let title)? = record["title"] as FieldValue?,
            case .string(let state)? = record["state"] as FieldValue?,
            let state = Chore.State(rawValue: state),
            case .int64(let priority)? = record["priority"] as FieldValue?,
            case .double(let weight)? = record["weight"] as FieldValue?,
            case .int64(let isPinned)? = record["isPinned"] as FieldValue?,
            case .stringList(let tags)? = record["tags"] as FieldValue?
        else { throw WrongCount() }
        chore.title = title
        chore.state = state
        chore.priority = Int(priority)
        chore.weight = weight
        chore.isPinned = isPinned != 0
        chore.tags = tags
        if case .string(let notes)? = record["notes"] as FieldValue? { chore.notes = notes }
        if case .timestamp(let due)? = record["due"] as FieldValue? {
            chore.due = Date(timeIntervalSince1970: Double(due) / 1000)
        }
        if case .reference(let list)? = record["list"] as FieldValue? { chore.list = list }
        if case .location(let place)? = record["place"] as FieldValue? { chore.place = place }
        return chore
    }
}

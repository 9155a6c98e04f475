// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import Testing
import Tidemark
import TidemarkDatabase
import TidemarkModel

@Suite struct TypedRecordTests {
    @Test func `A value of every type round-trips`() async throws {
        let garden = try await Garden()
        var value = Everything()
        value.date = Date(timeIntervalSince1970: 1_700_000_000.125)
        try await garden.zone.save(value)
        let fetched = try await garden.zone.fetch(Everything.self, value.id)
        #expect(fetched.value == value)
        #expect(try fetched.changedFields().isEmpty)
        #expect(fetched.record["isOn"] == FieldValue.int64(1))
        #expect(fetched.record["bytes"] == FieldValue.bytes([1, 2]))
        #expect(fetched.record["dates"] == FieldValue.timestampList([1000, -2000]))
        #expect(fetched.record["levels"] == FieldValue.int64List([1, 9]))
        #expect(fetched.record["id"] as FieldValue? == nil)
        #expect(fetched.record["absent"] as FieldValue? == nil)
        let encrypted = fetched.record.fields.filter(\.isEncrypted).map(\.name)
        #expect(encrypted == ["secret", "secrets"])
        // As other coders have it.
        let copy = try JSONDecoder().decode(Everything.self, from: JSONEncoder().encode(value))
        #expect(copy == value)
    }

    @Test func `A save sends only changes and keeps fields that the type lacks`() async throws {
        let garden = try await Garden()
        let zone = garden.zone
        try await zone.save(
            "water",
            type: "Chore",
            fields: ["title": "Water", "state": "open", "priority": 3, "due": Date()]
        )
        var chore = try await zone.fetch(Chore.self, "water")
        chore.state = .done
        chore.due = nil
        #expect(try chore.changedFields().map(\.name) == ["due", "state"])
        // Another device changes another field meanwhile.
        try await garden.zone(on: "pad").update(Chore.self, "water") { $0.tags = ["roses"] }
        await #expect(throws: SyncError.self) { try await zone.save(chore) }
        let merged = try await zone.save(chore, policy: .merge)
        #expect(merged.tags == ["roses"])
        #expect(merged.state == .done)
        #expect(merged.due == nil)
        #expect(merged.record["priority"] == 3)
    }

    @Test func `A value without changes sends nothing`() async throws {
        let garden = try await Garden()
        let saved = try await garden.zone.save(Chore(title: "Weed"))
        let again = try await garden.zone.save(saved)
        #expect(again == saved)
        let last = garden.store.lastSequence
        // A single precision of a double and an absent list are no changes.
        struct Reading: RecordCodable {
            static let recordType = "Reading"
            var id = RecordName.unique()
            var value: Float
            var notes: [String]
        }
        try await garden.zone.save("r", type: "Reading", fields: ["value": 0.1])
        let reading = try await garden.zone.fetch(Reading.self, "r")
        #expect(reading.notes == [])
        try await garden.zone.save(reading)
        #expect(garden.store.lastSequence.rawValue <= last.rawValue + 3)
        #expect(try await garden.zone.fetch("r")["value"] == 0.1)
    }

    @Test func `A new value does not replace a record, and an update is retried`() async throws {
        let garden = try await Garden()
        try await garden.zone.save(Chore(id: "mow", title: "Mow"))
        do {
            try await garden.zone.save(Chore(id: "mow", title: "Mow again"))
            Issue.record("a record was replaced")
        } catch let error as SyncError where error.code == .serverRecordChanged {
            let server = try #require(error.conflict?.server)
            #expect(try Chore(server).title == "Mow")
        }
        let pad = garden.zone(on: "pad")
        var runCount = 0
        let updated = try await garden.zone.update(Chore.self, "mow") { chore in
            runCount += 1
            if runCount == 1 {
                // Another device saves between the fetch and the save of this update.
                let saved = DispatchSemaphore(value: 0)
                Task.detached(executorPreference: QueueExecutor()) {
                    _ = try? await pad.update(Chore.self, "mow") { $0.tags.append("spring") }
                    saved.signal()
                }
                saved.wait()
            }
            chore.tags.append("summer")
        }
        #expect(runCount == 2)
        #expect(updated.tags == ["spring", "summer"])
        async let first = garden.zone.update(Chore.self, "mow") { $0.tags.append("a") }
        async let second = pad.update(Chore.self, "mow") { $0.tags.append("b") }
        _ = try await (first, second)
        let tags = try await pad.fetch(Chore.self, "mow").tags
        #expect(Set(tags) == ["spring", "summer", "a", "b"])
    }

    private func message(_ zone: ZoneHandle, _ name: String) async -> String {
        do {
            _ = try await zone.fetch(Chore.self, name)
            return "no error"
        } catch {
            return "\(error)"
        }
    }

    private func refusal(_ zone: ZoneHandle, _ value: some RecordCodable) async -> String {
        do {
            try await zone.save(value)
            return "no error"
        } catch {
            return error.localizedDescription
        }
    }

    @Test func `A record that does not fit is rejected with field and remedy`() async throws {
        let garden = try await Garden()
        let zone = garden.zone
        try await zone.save("a", type: "Chore", fields: ["title": "A", "state": "paused"])
        try await zone.save("b", type: "Chore", fields: ["state": "open"])
        try await zone.save("d", type: "Bed", fields: ["title": 1])
        #expect(await message(zone, "a").contains("the field \"state\" of the record a"))
        let absent = await message(zone, "b")
        #expect(absent.contains("the field \"title\" of the record b"))
        #expect(absent.contains("Make the property optional"))
        #expect(
            await message(zone, "d").contains(
                "has the type Bed, but Chore reads records of the type Chore"
            )
        )
        #expect(await message(zone, "none").contains("There is no record none"))

        struct Nested: RecordCodable {
            static let recordType = "Nested"
            var id = RecordName.unique()
            var size = ["width": 1]
        }
        struct Mixed: RecordCodable {
            static let recordType = "Mixed"
            var id = RecordName.unique()
            var lists = [[1], [2]]
        }
        struct Huge: RecordCodable {
            static let recordType = "Huge"
            var id = RecordName.unique()
            var number = UInt64.max
        }
        struct Endless: RecordCodable {
            static let recordType = "Endless"
            var id = RecordName.unique()
            var number = Double.infinity
        }
        struct Linked: RecordCodable {
            static let recordType = "Linked"
            var id = RecordName.unique()
            var other = RecordName("other")
        }
        #expect(await refusal(zone, Nested()).contains("The property \"size\" has members"))
        #expect(await refusal(zone, Mixed()).contains("The property \"lists\""))
        #expect(
            await refusal(zone, Huge()).contains("The property \"number\" is 18446744073709551615")
        )
        #expect(await refusal(zone, Endless()).contains("not a finite number"))
        #expect(await refusal(zone, Linked()).contains("Refer to other records by a Reference"))
    }

    @Test func `A type that encodes itself without properties is rejected`() async throws {
        struct Flat: RecordCodable {
            static let recordType = "Flat"
            var id = RecordName.unique()
            func encode(to encoder: any Encoder) throws {
                var list = encoder.unkeyedContainer()
                try list.encode("a")
            }
        }
        struct Single: RecordCodable {
            static let recordType = "Single"
            var id = RecordName.unique()
            func encode(to encoder: any Encoder) throws {
                var value = encoder.singleValueContainer()
                try value.encode(1)
            }
        }
        struct Piecewise: RecordCodable {
            enum Keys: String, CodingKey { case parts }
            static let recordType = "Piecewise"
            var id = RecordName.unique()
            func encode(to encoder: any Encoder) throws {
                var properties = encoder.container(keyedBy: Keys.self)
                var parts = properties.nestedUnkeyedContainer(forKey: .parts)
                try parts.encode("a")
            }
        }
        struct Grouped: Codable {
            init() {}
            init(from decoder: any Decoder) throws {}
            func encode(to encoder: any Encoder) throws {
                var list = encoder.unkeyedContainer()
                try list.encode(1)
                var inner = list.nestedUnkeyedContainer()
                try inner.encode(2)
            }
        }
        struct Holder: RecordCodable {
            static let recordType = "Holder"
            var id = RecordName.unique()
            var groups = Grouped()
        }
        let zone = try await Garden().zone
        #expect(await refusal(zone, Flat()).contains("without properties"))
        #expect(await refusal(zone, Single()).contains("without properties"))
        #expect(
            await refusal(zone, Piecewise()).contains("\"parts\" is written element by element")
        )
        #expect(await refusal(zone, Holder()).contains("\"groups\" is a list with lists in it"))
    }

    @Test func `An encoded value keeps its record and changes with any coder`() async throws {
        let garden = try await Garden()
        var chore = try await garden.zone.save(Chore(title: "Prune", tags: ["roses"]))
        let unchanged = try JSONDecoder()
            .decode(Stored<Chore>.self, from: JSONEncoder().encode(chore))
        #expect(unchanged == chore)
        chore.title = "Prune roses"
        let kept = try JSONDecoder().decode(Stored<Chore>.self, from: JSONEncoder().encode(chore))
        #expect(kept == chore)
        #expect(try kept.changedFields().map(\.name) == ["title"])
        let saved = try await garden.zone.save(kept)
        #expect(saved.title == "Prune roses")
    }
}

/// Runs tasks on Dispatch's threads, so that a thread of Swift's pool may wait for them.
private final class QueueExecutor: TaskExecutor {
    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        DispatchQueue.global().async {
            job.runSynchronously(on: self.asUnownedTaskExecutor())
        }
    }
}

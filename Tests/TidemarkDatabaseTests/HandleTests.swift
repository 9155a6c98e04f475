// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Tidemark
import TidemarkReplay
import TidemarkTesting

@Suite struct HandleTests {
    @Test func `Each named user has a separate private database`() async throws {
        let garden = try await Garden()
        try await garden.zone.save(Chore(id: "secret", title: "Anna's"))
        let ben = garden.store.database(of: "ben", device: "phone")
        #expect(try await ben.zones().map(\.name) == ["_defaultZone"])
        await #expect(throws: SyncError.self) {
            _ = try await ben.zone("garden").fetch(Chore.self, "secret")
        }
        // The caller alone says so, too.
        let zone = ZoneID(zoneName: "garden")
        let request = FetchRecordsRequest([RecordID(recordName: "secret", zone: zone)])
        let caller = Caller(user: "ben")
        #expect(caller.database.owner == "ben")
        let answer = try await garden.store.fetchRecords(request, as: caller)
        #expect(throws: SyncError.self) { try answer[0].get() }
        #expect(Caller().database == .standard)
    }

    @Test func `A batch is one atomic commit`() async throws {
        let garden = try await Garden()
        let zone = garden.zone
        let old = try await zone.save(Chore(id: "old", title: "Old"))
        let saved = try await zone.modify { batch in
            batch.save(Chore(id: "new", title: "New"))
            batch.save("plain", type: "Chore", fields: ["title": "Plain"])
            batch.delete(old)
        }
        #expect(saved.map(\.recordID.recordName) == ["new", "plain"])
        #expect(try await zone.fetchIfPresent(Chore.self, "old") == nil)
        // The item's own error, not that of the others.
        await #expect {
            try await zone.modify { batch in
                batch.save(Chore(id: "third", title: "Third"))
                batch.save(Chore(id: "new", title: "Again"))
            }
        } throws: { error in
            (error as? SyncError)?.code == .serverRecordChanged
        }
        #expect(try await zone.fetchIfPresent("third") == nil)
        // A deletion of a version that is there no more.
        let stale = try await zone.fetch(Chore.self, "new")
        try await zone.update(Chore.self, "new") { $0.title = "Newer" }
        await #expect(throws: SyncError.self) { try await zone.delete(stale) }
        try await zone.delete("new")
    }

    @Test func `A record of another zone is rejected`() async throws {
        let garden = try await Garden()
        let attic = try await garden.anna.createZone("attic")
        let chore = try await attic.save(Chore(id: "x", title: "Attic"))
        try await garden.zone.save(Chore(id: "x", title: "Garden"))
        await #expect {
            try await garden.zone.delete(chore)
        } throws: { error in
            "\(error)".contains(
                "The record x is in the zone attic, but this is the handle of the zone garden"
            )
        }
        #expect(try await garden.zone.fetch(Chore.self, "x").title == "Garden")
    }

    @Test func `Changes come in pages and start again after the token has expired`() async throws {
        let garden = try await Garden()
        let zone = garden.zone
        for number in 0..<7 { try await zone.save(Chore(id: "c\(number)", title: "\(number)")) }
        var token: ChangeToken?
        var names: [String] = []
        for try await change in zone.changes(limit: 3) {
            if case .changed(let record) = change.event { names.append(record.recordID.recordName) }
            token = change.token
        }
        #expect(names == (0..<7).map { "c\($0)" })
        try await zone.delete("c3")
        var events: [ZoneChanged] = []
        for try await change in zone.changes(since: token) { events.append(change) }
        #expect(events.count == 1)
        guard case .deleted(let deleted)? = events.first?.event else {
            Issue.record("no deletion")
            return
        }
        #expect(deleted.recordID.recordName == "c3")

        // The same name is another zone once it was deleted.
        try await garden.anna.deleteZone("garden")
        try await garden.anna.createZone("garden")
        try await zone.save(Chore(id: "fresh", title: "Fresh"))
        events = []
        for try await change in zone.changes(since: token) { events.append(change) }
        #expect(events.map(\.event.isReset) == [true, false])
        #expect(events[0].token == nil)
        #expect(events[1].token != nil)
    }

    @Test func `A token that expired is replaced even if the zone is empty`() async throws {
        let garden = try await Garden()
        let zone = garden.zone
        try await zone.save(Chore(id: "c", title: ""))
        var token: ChangeToken?
        for try await change in zone.changes() { token = change.token }
        try await garden.anna.deleteZone("garden")
        try await garden.anna.createZone("garden")
        var events: [ZoneChanged] = []
        for try await change in zone.changes(since: token) { events.append(change) }
        #expect(events.map(\.event) == [.reset])
        token = try #require(events.first?.token)
        try await zone.save(Chore(id: "d", title: ""))
        events = []
        for try await change in zone.changes(since: token) { events.append(change) }
        #expect(events.map(\.event.isReset) == [false])
    }

    @Test func `A device that stops within a page misses no changes`() async throws {
        let garden = try await Garden()
        for number in 0..<9 { try await garden.zone.save(Chore(id: "c\(number)", title: "")) }
        for stop in 1...9 {
            var seen: Set<String> = []
            var token: ChangeToken?
            var count = 0
            for try await change in garden.zone.changes(limit: 4) {
                if case .changed(let record) = change.event {
                    seen.insert(record.recordID.recordName)
                }
                token = change.token
                count += 1
                if count == stop { break }
            }
            for try await change in garden.zone.changes(since: token, limit: 4) {
                if case .changed(let record) = change.event {
                    seen.insert(record.recordID.recordName)
                }
            }
            #expect(seen.count == 9)
        }
    }

    @Test func `A database lists the zones that changed`() async throws {
        let garden = try await Garden()
        var token: ChangeToken?
        var names: [String] = []
        for try await change in garden.anna.changes() {
            if case .changed(let zone) = change.event { names.append(zone.name) }
            token = change.token
        }
        #expect(names == ["garden"])
        try await garden.anna.createZone("attic")
        try await garden.anna.deleteZone("garden")
        var events: [String] = []
        for try await change in garden.anna.changes(since: token) {
            switch change.event {
            case .changed(let zone): events.append("+\(zone.name)")
            case .deleted(let zone, _): events.append("-\(zone.zoneName)")
            case .reset: events.append("reset")
            }
        }
        #expect(events == ["+attic", "-garden"])
    }

    @Test func `A query treats interpolations as values, pages, and sorts`() async throws {
        let garden = try await Garden()
        let zone = garden.zone
        let start = Date(timeIntervalSince1970: 1_800_000_000)
        try await zone.modify { batch in
            for number in 0..<250 {
                batch.save(
                    Chore(
                        id: "c\(number)",
                        title: "x' OR title != '\(number)",
                        state: number % 2 == 0 ? .open : .done,
                        due: start.addingTimeInterval(Double(-number))
                    )
                )
            }
        }
        let state = Chore.State.open
        let limit = start.addingTimeInterval(-9.5)
        let query = zone.query(
            Chore.self,
            where: "state == \(state) AND due > \(limit)",
            sortedBy: "due"
        )
        #expect(try await query.all().map(\.id.text) == ["c8", "c6", "c4", "c2", "c0"])
        #expect(try await query.first()?.title == "x' OR title != '8")
        let hostile = "x' OR title != '7"
        let found = try await zone.query(Chore.self, where: "\(key: "title") == \(hostile)").all()
        #expect(found.map(\.id.text) == ["c7"])
        var count = 0
        var all = zone.query(
            "Chore",
            where: .init(format: "state == %@", "done"),
            sortedBy: .descending("due")
        )
        all.pageLimit = 20
        for try await record in all {
            count += 1
            if count == 1 { #expect(record.recordID.recordName == "c1") }
        }
        #expect(count == 125)
        var pages = 0
        for try await page in all.pages {
            pages += 1
            #expect(page.records.count <= 20)
        }
        #expect(pages >= 7)
        #expect(try await zone.query(Chore.self).all().count == 250)
        // Within quotes a value would be text, and find nothing.
        await #expect {
            _ = try await zone.query(Chore.self, where: "title == '\(hostile)'").all()
        } throws: { error in
            "\(error)".contains("a value stands inside quotes")
        }
        let quoted = zone.query(Chore.self, where: #"title != "\"'" AND state == \#(state)"#)
        #expect(try await quoted.all().count == 125)
    }

    @Test func `A cancelled task stops between pages`() async throws {
        let garden = try await Garden()
        try await garden.zone.modify { batch in
            for number in 0..<30 { batch.save(Chore(id: "c\(number)", title: "")) }
        }
        let zone = garden.zone
        let task = Task {
            var query = zone.query(Chore.self)
            query.pageLimit = 5
            var count = 0
            for try await _ in query {
                count += 1
                if count == 7 { withUnsafeCurrentTask { $0?.cancel() } }
            }
            return count
        }
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test func `Another device is notified of a change`() async throws {
        let garden = try await Garden()
        try await garden.anna.subscribe()
        let pad = garden.store.database(of: "anna", device: "pad")
        try await garden.zone.save(Chore(title: "before"))
        try await garden.store.waitUntilNotified()
        let news = try await pad.listen()
        // Before anybody waits for it.
        try await garden.zone.save(Chore(title: "after"))
        try await garden.store.waitUntilNotified()
        var iterator = news.makeAsyncIterator()
        let push = try #require(try await iterator.next())
        #expect(push.notification.subscriptionID == "database")
        // Going on from a token misses nothing either.
        try await garden.anna.createZone("attic")
        var later = pad.notifications(since: push.token).makeAsyncIterator()
        #expect(try await later.next()?.notification.kind == .database)
        #expect(try await garden.anna.subscriptions().map(\.id) == ["database"])
        try await garden.anna.unsubscribe("database")
        #expect(try await garden.anna.subscriptions().isEmpty)
    }

    @Test(arguments: [SavePolicy.changedKeys, .allKeys])
    func `A value saved over a record comes back with the fields it did not name`(
        policy: SavePolicy
    ) async throws {
        let garden = try await Garden()
        let zone = garden.zone
        let due = Date(timeIntervalSince1970: 1)
        try await zone.save(Chore(id: "dig", title: "Dig", due: due, tags: ["a"]))
        var saved = try await zone.save(Chore(id: "dig", title: "Dig deep"), policy: policy)
        #expect(saved.due == due)
        saved.title = "Dig deeper"
        try await zone.save(saved)
        let found = try await zone.fetch(Chore.self, RecordName("dig"))
        #expect(found.title == "Dig deeper")
        #expect(found.due == due)
        // What replaces a record has no other fields.
        let replaced = try await zone.save(Chore(id: "dig", title: "Rest"), policy: .replace)
        #expect(replaced.due == nil)
        #expect(try await zone.fetch(Chore.self, RecordName("dig")).value == replaced.value)
    }

    @Test func `Assets are uploaded, referenced and read`() async throws {
        struct Photo: RecordCodable {
            static let recordType = "Photo"
            var id = RecordName.unique()
            var image: AssetReference?
        }
        let garden = try await Garden()
        let bytes = (0..<5000).map { UInt8(truncatingIfNeeded: $0) }
        let image = try await garden.zone.upload(bytes)
        let photo = try await garden.zone.save(Photo(image: image))
        #expect(try await garden.zone.download("image", of: photo).bytes() == bytes)
        let part = try await garden.zone.download("image", of: photo.value.id, range: 10..<20)
        #expect(try await part.bytes() == Array(bytes[10..<20]))
    }

    @Test func `A root with a name of the greatest length has one share too`() async throws {
        let garden = try await Garden()
        for count in [249, 250, 255] {
            let root = RecordName(String(repeating: "r", count: count))
            try await garden.zone.save(root, type: "Plan", fields: ["title": "Beds"])
            let share = try await garden.zone.share(root)
            let again = try await garden.zone.share(root, with: [.invited("ben")])
            #expect(again.record.recordID == share.record.recordID)
            #expect(again.share.participants.contains { $0.user == UserID("ben") })
        }
    }

    @Test func `Shared records are in the other user's shared database`() async throws {
        let garden = try await Garden()
        let beds = try await garden.zone.save("beds", type: "Plan", fields: ["title": "Beds"])
        try await garden.zone.save(Chore(id: "dig", title: "Dig"), parent: .set(beds))
        try await garden.zone.save(Chore(id: "other", title: "Other"))
        let share = try await garden.zone.share(
            "beds",
            with: [.invited("ben", permission: .readWrite)]
        )
        let ben = garden.store.database(of: "ben", device: "phone")
        let shared = try await ben.accept(share.link)
        #expect(shared.id.ownerName == "anna")
        #expect(try await ben.sharedDatabase.zones().map(\.name) == ["garden"])
        try await shared.update(Chore.self, "dig") { $0.state = .done }
        #expect(try await garden.zone.fetch(Chore.self, "dig").state == .done)
        #expect(try await shared.fetchIfPresent("other") == nil)
        // A zone of the shared database is named with its owner.
        await #expect {
            _ = try await ben.sharedDatabase.zone("garden").fetch("dig")
        } throws: { error in
            "\(error)".contains("owner")
        }
        try await garden.zone.endShare(share)
        await #expect(throws: SyncError.self) { _ = try await shared.fetch(Chore.self, "dig") }
    }

    @Test func `Handles work on any service`() async throws {
        let garden = try await Garden()
        let faulty = FaultyService(garden.store)
        let zone = faulty.database(of: "anna", device: "phone").zone("garden")
        faulty.failNext(.save, with: SyncError(.zoneBusy, "Another device writes."))
        var attempts = 0
        while true {
            attempts += 1
            do {
                try await zone.save(Chore(id: "x", title: "X"))
                break
            } catch let error as SyncError where error.code == .zoneBusy {
                continue
            }
        }
        #expect(attempts == 2)
        await #expect(throws: SyncError.self) {
            _ = try await zone.fetch("x", asOf: .ago(.seconds(1)))
        }
    }

    @Test func `A held call ends when its task is cancelled`() async throws {
        let garden = try await Garden()
        let faulty = FaultyService(garden.store)
        let zone = faulty.database(of: "anna", device: "phone").zone("garden")
        faulty.hold()
        let save = Task { try await zone.save(Chore(id: "x", title: "X")) }
        while faulty.heldCallCount == 0 { try await Task.sleep(for: .milliseconds(2)) }
        save.cancel()
        await #expect(throws: (any Error).self) { try await save.value }
        #expect(faulty.heldCallCount == 0)
        // One whose task was cancelled before it began is not held either.
        let late = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await zone.save(Chore(id: "x", title: "X"))
        }
        await #expect(throws: (any Error).self) { try await late.value }
        faulty.release()
        let fetched = await #expect(throws: SyncError.self) {
            try await zone.fetch(Chore.self, "x")
        }
        #expect(fetched?.code == .unknownItem)
    }

    @Test func `The same handles read the past`() async throws {
        let garden = try await Garden()
        let saved = try await garden.zone.save(Chore(id: "water", title: "Water"))
        let then = garden.store.lastSequence
        try await garden.zone.update(Chore.self, "water") { $0.state = .done }
        let past = try await garden.zone.fetch(Chore.self, "water", asOf: .event(then))
        #expect(past == saved)
        #expect(try await garden.zone.fetch(Chore.self, "water", asOf: .ago(.zero)).state == .done)
        let open = try await garden.zone.query(
            Chore.self,
            where: "state == \(Chore.State.open)",
            asOf: .event(then)
        )
        #expect(open.map(\.id.text) == ["water"])
        // The remedy for a zone that does not exist now would be to create it.
        let before = PointInTime.event(.zero)
        let fetching = await #expect(throws: SyncError.self) {
            _ = try await garden.zone.fetch(Chore.self, "water", asOf: before)
        }
        let querying = await #expect(throws: SyncError.self) {
            _ = try await garden.zone.query(Chore.self, where: "state == 'x'", asOf: before)
        }
        for error in [fetching, querying] {
            #expect(error?.code == .zoneNotFound)
            #expect(error?.description.contains("existed then") == true)
        }
        var names: [String] = []
        try await garden.zone.visitDifferences(after: .event(then)) { difference in
            if case .record(let record) = difference { names += record.fields.map(\.name) }
            return true
        }
        #expect(names == ["state"])
        #expect(try await garden.zone.makeCase(of: ["water"]).records.count == 1)
        var happenings: [PastChange.Happening] = []
        for try await entry in garden.zone.history(of: past) {
            if case .change(let change) = entry { happenings.append(change.happening) }
        }
        #expect(happenings == [.changed, .created])
        #expect(try await garden.zone.blame(of: "water").fields.contains { $0.name == "state" })
        #expect(
            try await garden.anna.zones(asOf: .event(then)).map(\.name) == [
                "_defaultZone", "garden",
            ]
        )
    }
}

extension ZoneChanged.Event {
    fileprivate var isReset: Bool { if case .reset = self { true } else { false } }
}

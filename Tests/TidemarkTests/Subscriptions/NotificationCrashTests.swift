// Tidemark
// SPDX-License-Identifier: Apache-2.0

import SimulatedDisk
import Testing
import Tidemark
import TidemarkLog
import TidemarkModel
import TidemarkViews

/// The machine stops at every call of a workload with subscriptions on the simulated disk: after
/// reopening, everything that is in the log was told exactly once.
@Suite struct NotificationCrashTests {
    private func open(
        _ files: SimulatedFileSystem,
        _ index: MemoryViewIndex,
        _ access: StoreAccess = .writing
    ) throws(LogError) -> Store {
        var options = StoreOptions()
        options.checkpointEventCount = 16
        options.segmentByteCount = 1 << 20
        return try Store.open(
            at: "s",
            access: access,
            options: options,
            environment: StoreEnvironment(files, index)
        )
    }

    private func work(_ files: SimulatedFileSystem, _ index: MemoryViewIndex) async throws {
        let store = try open(files, index, .creating)
        let phone = Client(store: store)
        let laptop = phone.client(on: "laptop")
        try await phone.createZone()
        try await laptop.subscribe("all")
        try await laptop.subscribe("once", on: [.update, .once])
        try await laptop.subscribe(Subscription("zone", .zone(phone.zone)))
        for number in 0..<3 {
            try await phone.modify([try phone.save("r\(number)", ["n": 1])])
        }
        try await store.waitUntilNotified()
        try await phone.modify([try phone.save("r0", ["n": 2], policy: .changedKeys)])
        // Saved anew between the event that ends it and the end: both fire once.
        let again = Subscription.RecordQuery(
            recordType: "Note",
            options: [.update, .create, .once]
        )
        try await laptop.subscribe(Subscription("once", .query(again)))
        try await phone.modify([try phone.save("r1", ["n": 2], policy: .changedKeys)])
        try await store.waitUntilNotified()
        try await phone.modify([try phone.save("r2", ["n": 2], policy: .changedKeys)])
        try store.close()
    }

    /// What the laptop should have heard of by query, from the log alone: events and subscriptions in
    /// the order in which they are there.
    private func expected(_ store: Store, _ client: Client) throws -> [String] {
        var expected: [String] = []
        var seen: Set<String> = []
        var all = false
        var once: Int64 = 0
        try store.visitCommits { line in
            for change in line.changes {
                guard case .save(let record, let type, let fields, _) = change else { continue }
                if type == "Subscription" {
                    let id = fields["subscriptionID"]
                    if id == .string("all") { all = true }
                    if id == .string("once"), case .int64(let options)? = fields["options"] {
                        once = options
                    }
                } else if type == "Note" {
                    let name = record.recordName
                    let reason = seen.insert(name).inserted ? "created" : "updated"
                    if all { expected.append("all query \(reason) \(name)") }
                    if once & (reason == "created" ? 1 : 2) != 0 {
                        expected.append("once query \(reason) \(name)")
                        once = 0
                    }
                }
            }
            return true
        }
        return expected.sorted()
    }

    private func check(_ files: SimulatedFileSystem, _ index: MemoryViewIndex) async throws {
        let opened = Result { () throws(LogError) in try open(files, index) }
        if case .failure(let error) = opened, error.code == .notAStore { return }
        let store = try opened.get()
        let laptop = Client(store: store).client(on: "laptop")
        let heard = try await laptop.heard().notifications.map(\.summary)
        let byQuery = heard.filter { !$0.hasPrefix("zone") }.sorted()
        #expect(byQuery == (try expected(store, laptop)))
        #expect(heard.filter { $0.hasPrefix("zone") }.count <= 1)
        // Again, from what the store has kept: nothing is told twice.
        try store.close()
        let again = try open(files, index)
        let after = try await Client(store: again, caller: laptop.caller).heard().notifications
        #expect(after.map(\.summary) == heard)
        try again.close()
    }

    @Test func `After a crash at any call, each notification is made exactly once`() async throws {
        let whole = SimulatedFileSystem(keepsTrace: false)
        let wholeIndex = MemoryViewIndex()
        try await work(whole, wholeIndex)
        try await check(whole.crash(.keepingEverything), wholeIndex)
        let callCount = whole.callCount
        #expect(callCount > 40)
        for call in 1...callCount {
            let files = SimulatedFileSystem(keepsTrace: false)
            files.stop(atCall: call)
            let index = MemoryViewIndex()
            do {
                try await work(files, index)
            } catch is SyncError {
            } catch is LogError {
            }
            let outcomes = CrashOutcome.all(afterStopAt: call)
            for (position, outcome) in outcomes.enumerated() {
                let views = position == call % outcomes.count ? index : MemoryViewIndex()
                try await check(files.crash(outcome), views)
            }
        }
    }

    /// A sync fails while notifications are made: later they are made all the same.
    @Test func `A fault skips no notification`() async throws {
        let healthy = SimulatedFileSystem(keepsTrace: false)
        let index = MemoryViewIndex()
        try await work(healthy, index)
        let store = try open(healthy, index)
        let phone = Client(store: store)
        let laptop = phone.client(on: "laptop")
        try await phone.modify([try phone.save("late", ["n": 1])])
        healthy.failCall(healthy.callCount(of: .sync) + 1, of: .sync, with: 5)
        // What fails is the notification's commit: the store cannot write any more.
        await #expect(throws: SyncError.self) { try await store.waitUntilNotified() }
        try? store.close()
        let again = try open(healthy, index)
        let later = Client(store: again, caller: laptop.caller)
        let heard = try await later.heard().notifications.map(\.summary)
        #expect(heard.filter { !$0.hasPrefix("zone") }.sorted() == (try expected(again, later)))
        #expect(heard.filter { $0 == "all query created late" }.count == 1)
        try again.close()
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import TidemarkLock
import TidemarkLog
import TidemarkModel

@testable import Tidemark

@Suite struct UsageTests {
    private func scratch(
        private quota: Int? = nil,
        public publicQuota: Int? = nil
    ) throws -> ScratchAssets {
        var options = StoreOptions()
        options.limits.bytesPerPrivateDatabase = quota
        options.limits.bytesPerPublicDatabase = publicQuota
        return try ScratchAssets(options: options)
    }

    /// The sum that the store carries on; `nil` where it has not counted.
    private func carried(_ store: Store, _ database: DatabaseID = .standard) throws -> Int? {
        let wanted = UsageCounts.Reservation(database, growth: 1)
        let outcome = try store.parts.writer().usages.withLock { $0.reserve(wanted, quota: 0) }
        return if case .refused(let byteCount) = outcome { byteCount } else { nil }
    }

    private func text(_ count: Int) -> FieldValue {
        .string(String(repeating: "x", count: count))
    }

    // MARK: Uploads

    @Test func `Uploads that no record names are limited by the quota`() async throws {
        let scratch = try scratch(private: 100_000)
        let anna = scratch.client()
        func bytes(_ count: Int, _ byte: UInt8) -> [UInt8] {
            [UInt8](repeating: byte, count: count)
        }
        let first = try await anna.upload(bytes(60_000, 1))
        let error = await #expect(throws: SyncError.self) {
            try await anna.upload(bytes(60_000, 2))
        }
        #expect(error?.code == .quotaExceeded)
        // The rejected one left nothing that counts, and the same bytes count once.
        _ = try await anna.upload(bytes(40_000, 3))
        // Other users have quotas of their own.
        var ben = anna
        ben.caller.database = DatabaseID(owner: UserID("ben"))
        ben.caller.user = UserID("ben")
        _ = try await ben.upload(bytes(60_000, 2))
        // Once a record names it, an upload counts with the records.
        _ = try await anna.attach(first, to: "a").get()
        let second = try await anna.upload(bytes(30_000, 4))
        #expect(await refusal { try await anna.attach(second, to: "b").get() } == nil)
        let third = try await anna.upload(bytes(20_000, 5))
        #expect(await refusal { try await anna.attach(third, to: "c").get() } == .quotaExceeded)
        #expect(await refusal { try await anna.upload(bytes(50_000, 6)) } == .quotaExceeded)
        // After a day, what no record names may be collected.
        scratch.wait(ScratchAssets.day + 1)
        _ = try await anna.upload(bytes(99_000, 6))
        // Small files take a block each.
        #expect(await refusal { try await ben.upload(bytes(50_000, 7)) } == nil)
        for number in 0..<12 { _ = try? await ben.upload([UInt8(number)]) }
        #expect(await refusal { try await ben.upload(bytes(10_000, 8)) } == .quotaExceeded)
    }

    @Test func `The quota of a container limits the uploads of all its users`() async throws {
        let scratch = try scratch()
        var quota = ContainerQuota()
        quota.bytes = 100_000
        try scratch.store.setQuotas([.standard: quota])
        func upload(_ user: String, _ count: Int) async throws -> AssetReference {
            var client = scratch.client()
            client.caller.database = DatabaseID(owner: UserID(user))
            client.caller.user = UserID(user)
            return try await client.upload([UInt8](repeating: UInt8(count % 251), count: count))
        }
        _ = try await upload("anna", 90_000)
        #expect(await refusal { try await upload("anna", 20_000) } == .quotaExceeded)
        // Nor in another database of the container.
        var open = scratch.client(of: DatabaseID(scope: .public))
        open.caller.user = UserID("anna")
        let bytes = [UInt8](repeating: 1, count: 20_000)
        #expect(await refusal { try await open.upload(bytes) } == .quotaExceeded)
        // One user does not keep others from uploading.
        _ = try await upload("ben", 80_000)
        #expect(await refusal { try await upload("cleo", 40_000) } == .quotaExceeded)
        _ = try await upload("cleo", 30_000)
    }

    // MARK: Counting

    @Test func `Live records and their assets count, by zone and by database`() async throws {
        let scratch = try scratch()
        let anna = scratch.client()
        let notes = scratch.client(zone: ZoneID(zoneName: "Notes"))
        try await notes.createZone()
        let asset = try await anna.upload([UInt8](repeating: 7, count: 1000))
        for name in ["a", "b"] { _ = try await anna.attach(asset, to: name).get() }
        try await notes.put("n", ["text": text(5000)])
        try await notes.put("gone", ["text": text(5000)])
        _ = try await notes.modify([], delete: [RecordDeletion(notes.id("gone"))])
        let usage = try scratch.store.usage(of: .standard)
        #expect(usage.zones.map(\.zone) == [notes.zone, .default])
        var bytes: [ZoneID: Int] = [:]
        try scratch.store.visitRecords(of: .standard) { record in
            bytes[record.zone, default: 0] += record.body.bytes.count
            return true
        }
        #expect(
            usage.zones.map { $0.usage.recordByteCount } == [bytes[notes.zone], bytes[.default]]
        )
        #expect(usage.zones.map { $0.usage.recordCount } == [1, 2])
        #expect(usage.zones.map { $0.usage.assetByteCount } == [0, 2000])
        #expect(usage.total.byteCount == bytes.values.reduce(2000, +))
        // The schema, which the saves have brought, is nobody's data.
        #expect(try scratch.store.usages() == [usage])
        let open = scratch.client(of: DatabaseID(scope: .public))
        try await open.put("p", ["n": 1])
        #expect(try scratch.store.usages().map(\.total.recordCount) == [3, 1])
        try await notes.deleteZone()
        #expect(try scratch.store.usage(of: .standard).zones.map(\.zone) == [.default])
        #expect(try scratch.store.usage(of: DatabaseID(owner: UserID("_b"))).zones.isEmpty)
    }

    @Test func `Sizes that an import claims do not overflow`() async throws {
        let scratch = try scratch(private: 1 << 40)
        let asset = AssetReference(
            checksum: [UInt8](repeating: 1, count: 32),
            byteCount: UInt64(Int64.max)
        )
        var importing = try scratch.store.beginImport()
        for name in ["a", "b"] {
            let save = ChangeStreamLine.Change.save(
                recordID: RecordID(recordName: name),
                recordType: "File",
                fields: try Fields(["files": .assetList([asset, asset])])
            )
            let user = UserID("_anna")
            _ = try await importing.add(ChangeStreamLine(time: 1, user: user, changes: [save]))
        }
        try await importing.finish()
        let usage = try scratch.store.usage(of: .standard)
        #expect(usage.total.recordCount == 2 && usage.total.byteCount == .max)
        let anna = scratch.client()
        let error = await #expect(throws: SyncError.self) {
            try await anna.modify([try anna.save("n", ["n": 1])])
        }
        #expect(error?.code == .quotaExceeded)
        // Taking them away works.
        let gone = ["a", "b"].map { RecordDeletion(RecordID(recordName: $0)) }
        for deletion in try await anna.modify([], delete: gone).deletions { _ = try deletion.get() }
    }

    @Test(arguments: 0..<4)
    func `The sum over commits equals a full count`(seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        let scratch = try scratch(private: 1 << 40)
        let notes = scratch.client(zone: ZoneID(zoneName: "Notes"))
        try await notes.createZone()
        let asset = try await notes.upload([UInt8](repeating: 1, count: 500))
        for step in 0..<60 {
            var fields: KeyValuePairs<String, FieldValue?> = ["text": text(step * 7)]
            switch Int.random(in: 0..<6, using: &random) {
            case 0: fields = ["file": .asset(asset)]
            case 1: fields = ["file": nil, "text": nil]
            case 2: fields = ["to": .reference(Reference(recordName: "r0", action: .deleteSelf))]
            default: break
            }
            let name = "r\(Int.random(in: 0..<6, using: &random))"
            switch Int.random(in: 0..<10, using: &random) {
            case 0: try await notes.modify([], delete: [RecordDeletion(notes.id(name))])
            case 1 where step % 3 == 0:
                let line = ChangeStreamLine(
                    time: 1,
                    user: UserID("_anna"),
                    changes: [
                        .save(
                            recordID: notes.id(name),
                            recordType: "Note",
                            fields: try Fields(["text": text(step)])
                        )
                    ]
                )
                try await scratch.store.importLines([line])
            case 2 where step % 4 == 0:
                let ending = ModifyZonesRequest(deletions: [notes.zone])
                _ = try await scratch.store.modifyZones(ending, as: notes.caller)
                try await notes.createZone()
            default:
                let save = try notes.save(name, fields, policy: .changedKeys)
                try await notes.modify([save])
            }
            if let sum = try carried(scratch.store) {
                #expect(sum == (try scratch.store.usage(of: .standard).total.byteCount))
            }
        }
        _ = try await notes.modify([try notes.save("last", ["n": 1], policy: .allKeys)])
        let sum = try #require(try carried(scratch.store))
        #expect(sum == (try scratch.store.usage(of: .standard).total.byteCount))
        #expect(sum > 0)
    }

    // MARK: Quotas

    @Test func `A database grows up to its quota`() async throws {
        let scratch = try scratch(private: 10_000)
        let anna = scratch.client()
        let first = try await anna.put("a", ["text": text(6000)])
        let error = await #expect(throws: SyncError.self) {
            try await anna.modify([try anna.save("b", ["text": text(6000)])])
        }
        #expect(error?.code == .quotaExceeded)
        #expect(error?.message.contains("its quota is 10000") == true)
        #expect(try await anna.fetch("b")[0].error?.code == .unknownItem)
        // Exactly as much as there is.
        let left = 10_000 - first.body.bytes.count
        let empty = try await anna.put("b", ["text": text(0)])
        let tag = empty.changeTag
        let room = left - empty.body.bytes.count
        let more = try anna.save("b", ["text": text(room + 1)], tag: tag)
        await #expect(throws: SyncError.self) { try await anna.modify([more]) }
        let full = try anna.save("b", ["text": text(room)], tag: tag)
        #expect(try await anna.modify([full]).saves[0].error == nil)
        #expect(try scratch.store.usage(of: .standard).total.byteCount == 10_000)
        // What gets smaller, or stays, is always allowed.
        let tags = try await anna.fetch("a", "b").map { try $0.get().changeTag }
        let same = try anna.save("b", ["text": text(room)], tag: tags[1])
        #expect(try await anna.modify([same]).saves[0].error == nil)
        try await anna.modify([], delete: [RecordDeletion(anna.id("a"))])
        #expect(
            try await anna.modify([try anna.save("c", ["text": text(900)])]).saves[0].error == nil
        )
    }

    @Test func `Assets count, separately for each database`() async throws {
        let scratch = try scratch(private: 3000, public: 3000)
        let anna = scratch.client()
        let open = scratch.client(of: DatabaseID(scope: .public))
        for client in [anna, open, scratch.client("_bert", of: DatabaseID(owner: UserID("_bert")))]
        {
            let asset = try await client.upload([UInt8](repeating: 7, count: 2000))
            #expect(try await client.attach(asset, to: "a").error == nil)
            #expect(await refusal { try await client.attach(asset, to: "b") } == .quotaExceeded)
        }
    }

    @Test func `Writes of a participant count for the owner`() async throws {
        var options = StoreOptions()
        options.limits.bytesPerPrivateDatabase = 10_000
        let world = try await SharingWorld(options: options)
        let (anna, bob) = (world.anna, world.guest("bob"))
        try await anna.modify([try anna.node("root")])
        try await anna.modify([try anna.share("s", of: "root", with: [("bob", .readWrite)])])
        try await bob.accept("s", of: anna)
        let before = try world.store.usage(of: anna.caller.database).total
        let node = try bob.node("leaf", under: "root", ["text": text(3000)])
        #expect(try await bob.modify([node]).saves[0].error == nil)
        let after = try world.store.usage(of: anna.caller.database).total
        #expect(after.recordCount == before.recordCount + 1)
        #expect(after.byteCount > before.byteCount + 3000)
        #expect(try carried(world.store, anna.caller.database) == after.byteCount)
        let large = try bob.node("large", under: "root", ["text": text(9000)])
        #expect(await refusal { try await bob.modify([large]) } == .quotaExceeded)
        let own = DatabaseID(owner: UserID("_bob"))
        #expect(try world.store.usage(of: own).total.recordCount == 0)
    }

    @Test func `A private quota does not affect the public database`() async throws {
        let scratch = try scratch(private: 10)
        let open = scratch.client(of: DatabaseID(scope: .public))
        #expect(try await open.modify([try open.save("a", ["n": 1])]).saves[0].error == nil)
        let anna = scratch.client()
        await #expect(throws: SyncError.self) {
            try await anna.modify([try anna.save("a", ["n": 1])])
        }
        try await anna.modify([], delete: [RecordDeletion(anna.id("a"))])
    }

    @Test func `Existing records count after opening, and an import ignores quotas`() async throws {
        let first = try scratch()
        let anna = first.client()
        try await anna.put("a", ["text": text(5000)])
        try first.store.close()
        var options = StoreOptions()
        options.limits.bytesPerPrivateDatabase = 6000
        let second = try ScratchAssets(first.disk, options: options)
        let again = second.client()
        let large = try again.save("b", ["text": text(2000)])
        await #expect(throws: SyncError.self) { try await again.modify([large]) }
        let line = ChangeStreamLine(
            time: 1,
            user: UserID("_anna"),
            changes: [
                .save(
                    recordID: again.id("imported"),
                    recordType: "Note",
                    fields: try Fields(["text": text(4000)])
                )
            ]
        )
        try await second.store.importLines([line])
        #expect(
            try carried(second.store) == (try second.store.usage(of: .standard).total.byteCount)
        )
        let small = try again.save("c", ["n": 1])
        await #expect(throws: SyncError.self) { try await again.modify([small]) }
        try await again.modify([], delete: [RecordDeletion(again.id("imported"))])
        #expect(try await again.modify([small]).saves[0].error == nil)
    }

    @Test func `Concurrent writers cannot exceed a quota`() async throws {
        var options = StoreOptions()
        options.limits.bytesPerPrivateDatabase = 20_000
        let scratch = try ScratchAssets(options: options, isInline: false)
        let anna = scratch.client(zone: ZoneID(zoneName: "Notes"))
        try await anna.createZone()
        let done = await withTaskGroup(of: Bool.self) { group in
            for number in 0..<100 {
                group.addTask {
                    let fields: KeyValuePairs<String, FieldValue?> = ["text": .string("\(number)")]
                    let save = try? anna.save("r\(number)", fields)
                    let result = try? await anna.modify(
                        [save].compactMap(\.self) + [
                            try anna.save(
                                "s\(number)",
                                ["text": .string(String(repeating: "x", count: 500))]
                            )
                        ]
                    )
                    return result != nil
                }
            }
            return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        let usage = try scratch.store.usage(of: .standard).total
        #expect(usage.recordCount == 2 * done)
        #expect(done > 10 && done < 100)
        #expect(usage.byteCount <= 20_000)
        #expect(usage.byteCount > 18_000)
        #expect(try carried(scratch.store) == usage.byteCount)
    }

    // MARK: Containers

    /// The sum of a database's container that the store carries on, by the refusal of one byte more.
    private func carriedOfContainer(_ store: Store, _ database: DatabaseID) throws -> Int? {
        let wanted = UsageCounts.Reservation(database, growth: 1)
        let outcome = try store.parts.writer().usages.withLock {
            $0.reserve(wanted, quota: .max, containerQuota: 0)
        }
        return if case .refusedByContainer(let byteCount) = outcome { byteCount } else { nil }
    }

    private func total(_ store: Store, of container: ContainerID) throws -> Int {
        try store.usages().filter { $0.database.container == container }
            .reduce(0) { $0 + $1.total.byteCount }
    }

    @Test(arguments: 0..<6)
    func `The sum over the databases of a container equals a full count`(
        seed: UInt64
    ) async throws {
        var random = SeededGenerator(seed: seed)
        let scratch = try scratch()
        let container = ContainerID.standard
        var quota = ContainerQuota()
        quota.bytes = 1 << 40
        let clients = ["_anna", "_ben", "_carol"].map { name in
            scratch.client(
                name,
                of: DatabaseID(owner: UserID(name)),
                zone: ZoneID(zoneName: "Notes")
            )
        }
        for client in clients { try await client.createZone() }
        var checkedCount = 0
        for step in 0..<80 {
            // Quotas come and go; what is committed without one is counted all the same.
            if step == 5 || step == 40 { try scratch.store.setQuotas([container: quota]) }
            if step == 30 { try scratch.store.setQuotas(["iCloud.other": quota]) }
            let client = clients[Int.random(in: 0..<3, using: &random)]
            let name = "r\(Int.random(in: 0..<5, using: &random))"
            switch Int.random(in: 0..<10, using: &random) {
            case 0: try await client.modify([], delete: [RecordDeletion(client.id(name))])
            case 1:
                let ending = ModifyZonesRequest(deletions: [client.zone])
                _ = try await scratch.store.modifyZones(ending, as: client.caller)
                try await client.createZone()
            case 2:
                let line = ChangeStreamLine(
                    time: 1,
                    user: UserID("_dora"),
                    changes: [
                        .save(
                            recordID: RecordID(recordName: name),
                            recordType: "Note",
                            fields: try Fields(["text": text(step)])
                        )
                    ]
                )
                try await scratch.store.importLines([line])
            default:
                let save = try client.save(name, ["text": text(step * 7)], policy: .changedKeys)
                try await client.modify([save])
            }
            if let sum = try carriedOfContainer(scratch.store, client.caller.database) {
                #expect(sum == (try total(scratch.store, of: container)), "step \(step)")
                checkedCount += 1
            }
        }
        #expect(checkedCount > 10)
    }

    @Test func `A container grows up to its quota, whichever database grows`() async throws {
        let scratch = try scratch()
        var quota = ContainerQuota()
        quota.bytes = 10_000
        quota.bytesPerPrivateDatabase = 7_000
        let clients = ["_anna", "_ben"].map { name in
            scratch.client(name, of: DatabaseID(owner: UserID(name)))
        }
        let other = scratch.client(of: DatabaseID(container: "iCloud.other"))
        // What was there before counts.
        let first = try clients[0].save("a", ["text": text(6000)])
        #expect(try await clients[0].modify([first]).saves[0].error == nil)
        try scratch.store.setQuotas([.standard: quota])
        for (client, byteCount, message) in [
            (clients[0], 2_000, "its quota is 7000"), (clients[1], 5_000, "its quota is 10000"),
        ] {
            let save = try client.save("b", ["text": text(byteCount)])
            let error = await #expect(throws: SyncError.self) { try await client.modify([save]) }
            #expect(error?.code == .quotaExceeded)
            #expect(error?.message.contains(message) == true)
        }
        let small = try clients[1].save("c", ["text": text(2_000)])
        #expect(try await clients[1].modify([small]).saves[0].error == nil)
        let elsewhere = try other.save("a", ["text": text(20_000)])
        #expect(try await other.modify([elsewhere]).saves[0].error == nil)
        // Taking away makes room for others.
        try await clients[0].modify([], delete: [RecordDeletion(clients[0].id("a"))])
        let large = try clients[1].save("b", ["text": text(4_000)])
        #expect(try await clients[1].modify([large]).saves[0].error == nil)
        #expect(try scratch.store.containers() == ["iCloud.other", .standard])
        // Without quotas everything is allowed again.
        try scratch.store.setQuotas([:])
        let huge = try clients[1].save("d", ["text": text(20_000)])
        #expect(try await clients[1].modify([huge]).saves[0].error == nil)
    }

    @Test func `A retry gets its first result, also when the quota is full`() async throws {
        let scratch = try scratch(private: 3000)
        let anna = scratch.client()
        let save = try anna.save("a", ["text": text(2000)])
        let first = try await anna.modify([save], request: "one")
        #expect(try await anna.modify([save], request: "one") == first)
    }

    // MARK: The sums

    @Test func `Growth during a count is added at its end`() {
        var counts = UsageCounts()
        let wanted = UsageCounts.Reservation(.standard, growth: 10)
        #expect(counts.reserve(wanted, quota: 100) == .notCounted)
        let id = counts.begin(.standard)
        #expect(counts.begin(.standard) == nil, "it is being counted")
        for sequence: SequenceNumber in [5, 6] { counts.settle(wanted, at: sequence) }
        _ = counts.end(id ?? 0, of: .standard, byteCount: 50, bound: 5)
        #expect(counts.begin(.standard) == nil)
        #expect(counts.reserve(wanted, quota: 60) == .refused(byteCount: 60))
        guard case .reserved(let reservation) = counts.reserve(wanted, quota: 100) else {
            Issue.record("there is room")
            return
        }
        counts.release(reservation)
        #expect(counts.reserve(wanted, quota: 60) == .refused(byteCount: 60))
        // What the count has seen is not added twice, what it could not see is.
        counts.settle(wanted, at: 5)
        counts.settle(wanted, at: 7)
        #expect(counts.reserve(wanted, quota: 60) == .refused(byteCount: 70))
    }

    @Test func `A count that fails begins anew for those who wait for it`() async {
        let counts = Lock(UsageCounts())
        let first = counts.withLock { $0.begin(.standard) }
        #expect(first != nil)
        await withCheckedContinuation { continuation in
            #expect(counts.withLock { $0.wait(for: .standard, continuation) })
            let waiting = counts.withLock { $0.abandon(first ?? 0, of: .standard) }
            #expect(waiting.count == 1)
            for continuation in waiting { continuation.resume() }
        }
        let second = counts.withLock { $0.begin(.standard) }
        #expect(second != nil && second != first)
        // Also if the database was forgotten meanwhile, and is counted by others.
        await withCheckedContinuation { continuation in
            #expect(counts.withLock { $0.wait(for: .standard, continuation) })
            counts.withLock { $0.forgetAll() }
            #expect(counts.withLock { $0.begin(.standard) } != nil)
            let waiting = counts.withLock {
                $0.end(second ?? 0, of: .standard, byteCount: 1, bound: 1)
            }
            #expect(waiting.count == 1)
            for continuation in waiting { continuation.resume() }
        }
    }

    @Test func `A count that was discarded has no effect`() {
        var counts = UsageCounts()
        let id = counts.begin(.standard)
        counts.forget(.standard)
        _ = counts.end(id ?? 0, of: .standard, byteCount: 50, bound: 5)
        let wanted = UsageCounts.Reservation(.standard, growth: 10)
        #expect(counts.reserve(wanted, quota: 100) == .notCounted)
        let next = counts.begin(.standard)
        #expect(next != id)
        _ = counts.end(id ?? 0, of: .standard, byteCount: 50, bound: 5)
        #expect(counts.reserve(wanted, quota: 100) == .notCounted)
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TidemarkLock
import TidemarkLog
import TidemarkModel

@testable import Tidemark

/// A store erases from itself, and others continue to use it.
@Suite struct OpenErasureTests {
    private let folder: ScratchFolder
    private var path: String { folder.path() }

    init() throws {
        folder = try ScratchFolder()
    }

    private func places(of word: String) throws -> Set<String> {
        try StoreSearch(path: path, fileSystem: PosixFileSystem()).places(of: word)
    }

    private func dan(in store: Store, on device: String = "phone") -> Client {
        let user = UserID("_dan")
        return Client(
            store: store,
            caller: Caller(database: DatabaseID(owner: user), user: user, device: device),
            zone: ZoneID(zoneName: "Dan")
        )
    }

    /// A client that saves until it is told to stop.
    private final class Saving: Sendable {
        private let isOver = Lock(false)
        private let saved: (AsyncStream<Void>, AsyncStream<Void>.Continuation) =
            AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(1))

        func end() { isOver.withLock { $0 = true } }

        /// Waits until something was saved.
        func waitForFirst() async {
            for await _ in saved.0 { break }
        }

        /// The names of the records that were saved.
        func run(_ client: Client) async throws -> [String] {
            defer { saved.1.finish() }
            var names: [String] = []
            while !isOver.withLock({ $0 }) {
                let name = "later \(names.count)"
                let save = try client.save(name, ["word": "later"], policy: .allKeys)
                do {
                    _ = try await client.modify([save]).saves[0].get()
                    names.append(name)
                    saved.1.yield()
                } catch let error as SyncError where error.code == .serviceUnavailable {
                    try await Task.sleep(for: .milliseconds(5))
                }
            }
            return names
        }
    }

    @Test func `Others save, fetch and listen while a user is erased`() async throws {
        let store = try Store.open(at: path, access: .creating, options: ErasureWorld.options)
        let world = ErasureWorld(store: store)
        try await world.live()
        let bobs = try await world.records(of: world.bob)
        let bobsToken = try await world.bob.changes().token
        let dan = dan(in: store)
        try await dan.createZone()
        try await dan.subscribe(Subscription("zone", .zone(dan.zone)))
        let token = try await dan.changes().token
        let pad = self.dan(in: store, on: "pad").caller
        var pushes = try await store.notifications(
            since: try await store.notificationToken(as: pad),
            as: pad
        ).makeAsyncIterator()
        let statuses = try await store.accountStatuses(as: pad)
        let lastStatus = Task {
            var last: AccountStatus?
            for try await status in statuses {
                last = status
                if status == .restricted { break }
            }
            return last
        }
        let count = RecordCount()
        let following = Task { try await store.follow(count) }
        let saving = Saving()
        let saved = Task { try await saving.run(dan) }
        await saving.waitForFirst()

        let receipt = try store.erase(.user(ErasureWorld.user))
        #expect(receipt.zoneCount == 4)
        #expect(receipt.removedCount > 100)

        saving.end()
        let names = try await saved.value
        let late = try dan.save("late", ["word": "late"], type: "Late")
        _ = try await dan.modify([late]).saves[0].get()
        // What was acknowledged is there, after a token from before and from the beginning.
        for start in [token, nil] {
            let changes = try await dan.changes(since: start).changes
            let found = Set(
                changes.map { change in
                    switch change {
                    case .changed(let record): record.recordID.recordName
                    case .deleted(let record): record.recordID.recordName
                    }
                }
            )
            #expect(found.isSuperset(of: names + ["late"]))
        }
        #expect(try await world.records(of: world.bob) == bobs)
        #expect(try await world.records(of: world.bob, since: bobsToken).isEmpty)
        // Those that listened before are told.
        #expect(try await pushes.next() != nil)
        var account = UserAccount(UserID("_dan"))
        account.status = .restricted
        try await store.setUser(account)
        #expect(try await lastStatus.value == .restricted)
        for _ in 0..<2_400 {
            if await count.counts["Late"] != nil { break }
            try await Task.sleep(for: .milliseconds(25))
        }
        #expect(await count.counts["Late"] == 1)
        try store.close()
        try await following.value
        #expect(try places(of: "zelda") == [])
        #expect(try places(of: "quagga") == [])
        #expect(try LogReader(path, fileSystem: PosixFileSystem()).verify().damage.isEmpty)
    }

    @Test func `Calls fail with a time to retry, and a failure leaves the store open`() async throws
    {
        let store = try Store.open(at: path, access: .creating)
        let client = dan(in: store)
        try await client.createZone()
        try await client.put("a", ["n": 1])
        let last = store.lastSequence
        func fail() throws(LogError) -> Int {
            let error = #expect(throws: SyncError.self) { try store.figures() }
            #expect(error?.code == .serviceUnavailable)
            #expect(error?.retryAfter != nil)
            #expect(store.lastSequence == last)
            throw LogError(.full, "There is no space.")
        }
        let failure = #expect(throws: LogError.self) {
            try store.whileClosed(if: { _ in }, fail)
        }
        #expect(failure?.code == .full)
        #expect(try await client.fetch("a")[0].get()["n"] == .int64(1))
        try await client.put("b", ["n": 2])
        try store.close()
        #expect(throws: LogError.self) { try store.erase(.user(UserID("_dan"))) }
        #expect(try places(of: "_dan").contains("blocks"))

        let reading = try Store.open(at: path, access: .reading)
        let error = #expect(throws: LogError.self) { try reading.erase(.user(UserID("_dan"))) }
        #expect(error?.code == .readOnly)
    }

    @Test func `Quotas that were set before an erasure still apply`() async throws {
        let store = try Store.open(at: path, access: .creating)
        let client = dan(in: store)
        try await client.createZone()
        var quota = ContainerQuota()
        quota.bytesPerPrivateDatabase = 5_000
        try store.setQuotas([.standard: quota])
        let word = FieldValue.string(String(repeating: "long ", count: 1_000))
        _ = try store.erase(.user(UserID("_zelda")))
        let save = try client.save("a", ["word": word, "more": word])
        #expect(await refusal { try await client.modify([save]) } == .quotaExceeded)
        try await client.put("b", ["n": 1])
        try store.close()
    }

    @Test func `A reader is in the way of an erasure, and the store stays in use`() async throws {
        let store = try Store.open(at: path, access: .creating)
        let client = dan(in: store)
        try await client.createZone()
        try await client.put("a", ["n": 1])
        do {
            let reader = try LogReader(path, fileSystem: PosixFileSystem())
            let error = #expect(throws: LogError.self) { try store.erase(.user(UserID("_dan"))) }
            #expect(error?.code == .locked)
            #expect(try await client.fetch("a")[0].get()["n"] == .int64(1))
            withExtendedLifetime(reader) {}
        }
        #expect(try store.erase(.user(UserID("_dan"))).zoneCount == 1)
        try store.close()
        #expect(try places(of: "_dan") == [])
    }

    @Test func `An upload that is running during an erasure fails and leaves nothing`() async throws
    {
        let store = try Store.open(at: path, access: .creating)
        let client = dan(in: store)
        try await client.createZone()
        let incoming = path + "/assets/incoming"
        func waiting() -> [String] {
            (try? FileManager.default.contentsOfDirectory(atPath: incoming)) ?? []
        }
        let (pieces, source) = AsyncStream.makeStream(of: [UInt8].self)
        let request = UploadAssetRequest(zone: client.zone)
        let uploading = Task {
            try await store.uploadAsset(pieces, request, as: client.caller)
        }
        source.yield([UInt8](repeating: 7, count: 1000))
        for _ in 0..<2_400 where waiting().isEmpty {
            try await Task.sleep(for: .milliseconds(25))
        }
        #expect(waiting().count == 1)
        _ = try store.erase(.user(UserID("_zelda")))
        #expect(waiting().isEmpty)
        // The next upload gets the name that the file of the first one had.
        let next = try await client.upload([1, 2, 3])
        source.yield([UInt8](repeating: 8, count: 1000))
        source.finish()
        #expect(await refusal { try await uploading.value } == .serviceUnavailable)
        #expect(waiting().isEmpty)
        _ = try await client.attach(next, to: "b").get()
        #expect(try await client.download("b") == [1, 2, 3])
        try store.close()
    }
}

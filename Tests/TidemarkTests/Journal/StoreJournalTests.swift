// Tidemark
// SPDX-License-Identifier: Apache-2.0

import SimulatedDisk
import TestSupport
import Testing
import TidemarkEvents
import TidemarkLog
import TidemarkModel
import TidemarkViews

@testable import Tidemark

@Suite struct StoreJournalTests {
    private let folder: ScratchFolder

    init() throws {
        folder = try ScratchFolder()
    }

    private func open(
        _ extent: StoreOptions.Journal = .refusals,
        _ access: StoreAccess = .creating,
        _ change: (inout StoreOptions) -> Void = { _ in }
    ) throws -> Store {
        var options = StoreOptions()
        options.journal = extent
        change(&options)
        return try Store.open(at: folder.path(), access: access, options: options)
    }

    private func entries(of store: Store) throws -> [JournalEntry] {
        var entries: [JournalEntry] = []
        let standing = try store.visitJournal { entries.append($0) }
        #expect(standing.damage.isEmpty && standing.lostCount == 0 && standing.failure == nil)
        #expect(standing.entryCount == entries.count)
        return entries
    }

    private func refused(_ store: Store) throws -> [JournalEntry.Refused] {
        try entries(of: store).compactMap {
            if case .refused(let refused) = $0.content { refused } else { nil }
        }
    }

    private func told(_ store: Store) throws -> [JournalEntry.Told] {
        try entries(of: store).compactMap {
            if case .told(let told) = $0.content { told } else { nil }
        }
    }

    @Test func `Each rejected item is recorded with code, rule and caller`() async throws {
        let store = try open()
        var anna = Client(store: store)
        anna.caller.requestID = nil
        try await anna.createZone()
        try await anna.modify([anna.save("a", ["n": 1])])
        #expect(try entries(of: store).isEmpty)
        let result = try await anna.modify(
            [anna.save("a", ["n": 2]), anna.save("b", ["n": 3])],
            request: "r-1"
        )
        let conflict = try #require(result.saves[0].error)
        let entries = try entries(of: store)
        #expect(entries.count == 2 && entries[0].content == .began(.refusals))
        let refused = try #require(try refused(store).first)
        #expect(refused.call == .modifyRecords && refused.caller.requestID == "r-1")
        #expect(refused.caller.user == anna.caller.user && refused.caller.device == "phone")
        #expect(refused.caller.build == "1" && refused.caller.database == anna.caller.database)
        #expect(
            refused.refusals == [
                .init(.record(anna.id("a")), .serverRecordChanged, conflict.message),
                .init(.record(anna.id("b")), .batchRequestFailed, ""),
            ]
        )
        // A retry is refused again.
        try await anna.modify([anna.save("a", ["n": 2]), anna.save("b", ["n": 3])], request: "r-1")
        #expect(try self.refused(store) == [refused, refused])
        try store.close()
        // Without the writer, too.
        let reading = try open(.refusals, .reading)
        let all = try self.entries(of: reading)
        #expect(all.count == 4 && all.last?.content == .ended)
        #expect(all.allSatisfy { $0.time > 1_700_000_000_000 })
    }

    @Test func `Each call rejected as a whole is recorded with its subject`() async throws {
        let store = try open { $0.limits.itemsPerRequest = 2 }
        let anna = Client(store: store)
        try await anna.createZone()
        let elsewhere = ZoneID(zoneName: "Elsewhere")
        let three = try ["a", "b", "c"].map { try anna.save($0, ["n": 1]) }
        func refusal(
            _ call: JournalEntry.Call,
            _ items: [SyncError.Item] = [],
            _ body: () async throws -> Void
        ) async throws {
            let before = try refused(store).count
            var error: SyncError?
            do { try await body() } catch let thrown as SyncError { error = thrown }
            let code = try #require(error).code
            let found = try #require(try refused(store).dropFirst(before).first)
            #expect(found.call == call)
            #expect(found.refusals[0].code == code && found.refusals[0].item == nil)
            #expect(found.refusals[0].message == error?.message)
            #expect(found.refusals.dropFirst().map(\.item) == items)
            #expect(found.refusals.dropFirst().allSatisfy { $0.code == code && $0.message == "" })
        }
        try await refusal(.modifyRecords, three.map { .record($0.recordID) }) {
            try await anna.modify(three)
        }
        try await refusal(.fetchRecords, three.map { .record($0.recordID) }) {
            _ = try await anna.fetch("a", "b", "c")
        }
        try await refusal(.zoneChanges, [.zone(elsewhere)]) {
            let request = ZoneChangesRequest(zone: elsewhere)
            _ = try await store.zoneChanges(request, as: anna.caller)
        }
        try await refusal(.databaseChanges) {
            let request = DatabaseChangesRequest(since: ChangeToken(bytes: [1, 2]))
            _ = try await store.databaseChanges(request, as: anna.caller)
        }
        #expect(try refused(store).last?.since == ChangeToken(bytes: [1, 2]))
        try await refusal(.modifyZones, [elsewhere, anna.zone, .default].map { .zone($0) }) {
            let request = ModifyZonesRequest(saves: [elsewhere, anna.zone], deletions: [.default])
            _ = try await store.modifyZones(request, as: anna.caller)
        }
        var nobody = anna.caller
        nobody.user = nil
        try await refusal(.zones) { _ = try await store.zones(as: nobody) }
        try await refusal(.query) {
            _ = try await store.query(QueryRequest(Query(recordType: "None")), as: anna.caller)
        }
        try await refusal(.assets) {
            let request = HeldAssetsRequest([], zone: elsewhere)
            _ = try await store.heldAssets(request, as: anna.caller)
        }
        try await refusal(.users) { _ = try await store.currentUser(as: nobody) }
        try await refusal(.shares) { _ = try await store.acceptShare("nowhere", as: anna.caller) }
        try await refusal(.subscriptions) { _ = try await store.subscriptions(as: nobody) }
        try await refusal(.notifications) {
            _ = try await store.notificationChanges(NotificationChangesRequest(), as: nobody)
        }
        // Items of zones, too.
        let result = try await store.modifyZones(
            ModifyZonesRequest(deletions: [.default]),
            as: anna.caller
        )
        let error = try #require(result.deletions[0].error)
        #expect(
            try refused(store).last?.refusals == [.init(.zone(.default), error.code, error.message)]
        )
        // That there is no such record is an answer.
        let count = try refused(store).count
        #expect(try await anna.fetch("x")[0].error?.code == .unknownItem)
        #expect(try refused(store).count == count)
    }

    @Test func `The full journal records each delta sent to a device and its token`() async throws {
        let store = try open(.full) { $0.limits.recordsPerPage = 3 }
        let anna = Client(store: store)
        try await anna.createZone()
        #expect(try entries(of: store).map(\.content) == [.began(.full)])
        for name in ["a", "b", "c", "d", "e"] {
            try await anna.modify([anna.save(name, ["n": 1])])
        }
        let (_, token) = try await anna.changes()
        let pages = try told(store)
        #expect(pages.map(\.changeCount) == [3, 2] && pages.map(\.moreComing) == [true, false])
        #expect(pages.map(\.since) == [nil, pages[0].token] && pages[1].token == token)
        #expect(pages.allSatisfy { $0.zone == anna.zone && $0.caller == anna.caller })
        #expect(pages.allSatisfy { $0.shownThrough == store.lastSequence })
        let zones = try await anna.databaseChanges()
        let told = try #require(try told(store).last)
        #expect(told.call == .databaseChanges && told.token == zones.token && told.zone == nil)
        let notes = try await store.notificationChanges(
            NotificationChangesRequest(),
            as: anna.caller
        )
        #expect(try self.told(store).last?.token == notes.token)
        #expect(try self.told(store).count == 4 && refused(store).isEmpty)
    }

    @Test func `A journal of rejections does not record deltas`() async throws {
        let store = try open()
        let anna = Client(store: store)
        try await anna.createZone()
        try await anna.modify([anna.save("a", ["n": 1])])
        _ = try await anna.changes()
        #expect(try entries(of: store).isEmpty)
        try store.close()
        let files = PosixFileSystem()
        #expect(try !files.exists(folder.path() + "/journal"))
    }

    @Test func `A page of shared records has the participant's zone and token`() async throws {
        var options = StoreOptions()
        options.journal = .full
        let world = try await SharingWorld(options: options)
        let bob = world.guest("bob")
        let anna = world.anna
        try await anna.modify([
            anna.node("root"), anna.share("share", of: "root", with: [("bob", .readOnly)]),
        ])
        let token = try await anna.shared("share").token
        _ = try await world.store.acceptShare(token, as: bob.caller)
        let (changes, last) = try await bob.changes()
        let told = try #require(try told(world.store).last)
        #expect(told.zone == bob.zone && told.caller == bob.caller && told.token == last)
        #expect(told.changeCount == changes.count && !changes.isEmpty)
    }

    @Test func `A journal that cannot be written does not block calls`() async throws {
        let disk = SimulatedFileSystem()
        var environment = StoreEnvironment()
        environment.log.fileSystem = BrokenJournal(disk)
        environment.log.writesInline = true
        environment.openIndex = { _, _, _ in MemoryViewIndex() }
        var options = StoreOptions()
        options.journal = .full
        let store = try Store.open(
            at: "s",
            access: .creating,
            options: options,
            environment: environment
        )
        let anna = Client(store: store)
        try await anna.createZone()
        for number in 0..<20 {
            let result = try await anna.modify([anna.save("a", ["n": 1])])
            #expect(result.saves[0].error == nil || number > 0)
            _ = try await anna.changes()
        }
        let standing = try store.visitJournal()
        // It has begun; then there were pages and refusals.
        #expect(standing.lostCount == 1 + 20 + 19)
        #expect(standing.failure?.isOutOfSpace == true && standing.entryCount == 0)
        try store.close()
    }

    @Test func `Entries that concern a user or a zone can be removed`() async throws {
        let store = try open(.full)
        let anna = Client(store: store)
        try await anna.createZone()
        var bob = anna
        bob.caller.user = UserID("_bob")
        bob.caller.database = DatabaseID(owner: UserID("_bob"))
        try await bob.createZone()
        var other = anna
        other.zone = ZoneID(zoneName: "Other")
        try await other.createZone()
        for client in [anna, bob, other] { _ = try await client.changes() }
        // Bob may not look at Anna's.
        var prying = bob
        prying.caller.database = DatabaseID(owner: UserID("_anna"))
        await #expect(throws: SyncError.self) { try await prying.changes() }
        let reader = try store.parts.reader
        let all = try entries(of: store).count
        #expect(all == 1 + 3 + 1)
        let zone = ZoneIdentity(database: other.caller.database, zoneName: other.zone.name)
        #expect(try reader.removeFromJournal { $0.concerns(zone) } == 1)
        #expect(try told(store).map(\.zone) == [anna.zone, anna.zone])
        #expect(try reader.removeFromJournal { $0.concerns(UserID("_bob")) } == 2)
        #expect(try told(store).map(\.caller.user) == [UserID("_anna")])
        #expect(try refused(store).isEmpty)
    }
}

extension Reader {
    /// Removes entries of the journal, as an erasure does.
    fileprivate func removeFromJournal(
        where isUnwanted: (JournalEntry.Content) -> Bool
    ) throws -> Int {
        try #require(journal).journal.removeEntries { bytes in
            guard let content = try? JournalEntry.Content(bytes) else { return true }
            return isUnwanted(content)
        }
    }
}

/// A disk that is full where the journal is.
private struct BrokenJournal: FileSystem {
    let disk: SimulatedFileSystem

    init(_ disk: SimulatedFileSystem) {
        self.disk = disk
    }

    private func check(_ path: String, _ call: FileError.Call) throws(FileError) {
        guard path.contains("/journal") else { return }
        throw FileError(call: call, path: path, errorNumber: 28)
    }

    func createDirectory(_ path: String) throws(FileError) {
        try check(path, .createDirectory)
        try disk.createDirectory(path)
    }

    func open(_ path: String, _ mode: FileMode) throws(FileError) -> any LogFile {
        try check(path, .open)
        return try disk.open(path, mode)
    }

    func exists(_ path: String) throws(FileError) -> Bool { try disk.exists(path) }
    func status(of path: String) throws(FileError) -> FileStatus? { try disk.status(of: path) }
    func linkCount(of path: String) throws(FileError) -> Int { try disk.linkCount(of: path) }
    func list(_ directory: String) throws(FileError) -> [String] { try disk.list(directory) }

    func rename(_ path: String, to target: String) throws(FileError) {
        try disk.rename(path, to: target)
    }

    func link(_ path: String, to target: String) throws(FileError) {
        try disk.link(path, to: target)
    }

    func remove(_ path: String) throws(FileError) { try disk.remove(path) }
    func syncDirectory(_ path: String) throws(FileError) { try disk.syncDirectory(path) }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Testing

#if TidemarkName
import TidemarkCloudKit
#else
import CloudKit
#endif

@Suite(.needsCloud) struct `A sync engine` {
    private let fixture = CloudFixture()

    private func book(
        on device: String,
        of user: String = "anna",
        syncsByItself: Bool = false
    ) -> NoteBook {
        NoteBook(fixture.container(on: device, of: user), syncsByItself: syncsByItself)
    }

    /// Sends until nothing fails any more: the zone is made once it is missed.
    private func sendAll(_ book: NoteBook) async throws {
        do {
            try await book.engine().sendChanges()
        } catch let error as CKError where error.code == .partialFailure {
            try await book.engine().sendChanges()
        }
    }

    /// Waits for something that a device does by itself.
    private func wait(_ isSo: () async -> Bool) async throws {
        for _ in 0..<600 {
            if await isSo() { return }
            try await Task.sleep(for: .milliseconds(50))
        }
        Issue.record("It did not happen within thirty seconds.")
    }

    @Test(arguments: [1, 600]) func `Notes sync from one device to another`(
        _ count: Int
    ) async throws {
        let (phone, laptop) = (book(on: "phone"), book(on: "laptop"))
        for number in 0..<count { await phone.write("text \(number)", in: "n\(number)") }
        try await sendAll(phone)
        try await laptop.engine().fetchChanges()
        let texts = await laptop.notes.mapValues(\.text)
        #expect(await phone.notes.mapValues(\.text) == texts)
        #expect(texts.count == count)
        #expect(await phone.engine().state.pendingRecordZoneChanges.isEmpty)

        await laptop.write("changed", in: "n0")
        try await laptop.engine().sendChanges()
        try await phone.engine().fetchChanges()
        #expect(await phone.notes["n0"]?.text == "changed")
        await phone.remove("n0")
        try await phone.engine().sendChanges()
        try await laptop.engine().fetchChanges()
        #expect(await laptop.notes["n0"] == nil)
    }

    @Test func `All changes except unstorable ones are sent`() async throws {
        let (phone, laptop) = (book(on: "phone"), book(on: "laptop"))
        await phone.write("first", in: "first")
        try await sendAll(phone)
        for number in 0..<20 {
            let edited = number == 13 ? Date(timeIntervalSince1970: .nan) : Date()
            await phone.write("text \(number)", in: "n\(number)", at: edited)
        }
        let before = await phone.failures.count
        do {
            try await phone.engine().sendChanges()
            Issue.record("a note without a time was sent")
        } catch let error as CKError {
            #expect(error.code == .partialFailure)
        }
        let failures = await phone.failures
        #expect(failures.dropFirst(before) == [.invalidArguments])
        try await laptop.engine().fetchChanges()
        #expect(await laptop.notes.count == 20)
    }

    @Test func `Events arrive in order, and the state update follows its events`() async throws {
        let (phone, laptop) = (book(on: "phone"), book(on: "laptop"))
        await phone.addZone()
        await phone.write("a", in: "a")
        try await phone.engine().sendChanges()
        let sent = await phone.events.filter { $0 != "stateUpdate" }
        #expect(
            sent == [
                "accountChange", "willSendChanges", "sentDatabaseChanges",
                "sentRecordZoneChanges", "didSendChanges",
            ]
        )
        try await laptop.engine().fetchChanges()
        let fetched = await laptop.events
        #expect(
            fetched.filter { $0 != "stateUpdate" } == [
                "accountChange", "willFetchChanges", "fetchedDatabaseChanges",
                "willFetchRecordZoneChanges", "fetchedRecordZoneChanges",
                "didFetchRecordZoneChanges", "didFetchChanges",
            ]
        )
        let records = try #require(fetched.firstIndex(of: "fetchedRecordZoneChanges"))
        #expect(fetched[(records + 1)...].contains("stateUpdate"))
    }

    @Test func `Sending to a missing zone fails, and creates the zone if requested`() async throws {
        let phone = book(on: "phone")
        await phone.write("a", in: "a")
        let engine = await phone.engine()
        let error = await #expect(throws: CKError.self) { try await engine.sendChanges() }
        #expect(error?.code == .partialFailure)
        let part = error?.partialErrorsByItemID?.values.first as? CKError
        #expect(part?.code == .zoneNotFound)
        #expect(engine.state.pendingRecordZoneChanges.count == 1)
        #expect(engine.state.pendingDatabaseChanges.count == 1)
        try await engine.sendChanges()
        #expect(engine.state.pendingRecordZoneChanges.isEmpty)
    }

    @Test(arguments: [true, false])
    func `After a conflict, all devices keep the later edit`(_ laterFirst: Bool) async throws {
        let (phone, laptop) = (book(on: "phone"), book(on: "laptop"))
        await phone.write("first", in: "n", at: Date(timeIntervalSince1970: 1000))
        try await sendAll(phone)
        try await laptop.engine().fetchChanges()
        await phone.write("earlier", in: "n", at: Date(timeIntervalSince1970: 2000))
        await laptop.write("later", in: "n", at: Date(timeIntervalSince1970: 3000))
        let (first, second) = laterFirst ? (laptop, phone) : (phone, laptop)
        try await first.engine().sendChanges()
        let engine = await second.engine()
        await #expect(throws: CKError.self) { try await engine.sendChanges() }
        #expect(await second.failures.last == .serverRecordChanged)
        #expect(engine.state.pendingRecordZoneChanges.count == (laterFirst ? 0 : 1))
        try await second.engine().sendChanges()
        try await first.engine().fetchChanges()
        #expect(await phone.notes["n"]?.text == "later")
        #expect(await laptop.notes["n"]?.text == "later")
    }

    @Test func `Automatic sync sends local changes and fetches remote changes`() async throws {
        let phone = book(on: "phone", syncsByItself: true)
        let laptop = book(on: "laptop", syncsByItself: true)
        _ = await laptop.engine()
        await phone.write("hello", in: "n")
        try await wait { await laptop.notes["n"]?.text == "hello" }
        await laptop.write("there", in: "n")
        try await wait { await phone.notes["n"]?.text == "there" }
        let saved = try await fixture.container(on: "tv", of: "anna").privateCloudDatabase
            .allSubscriptions()
        #expect(saved.count == 1)
    }

    @Test func `A restarted engine resumes from its saved state`() async throws {
        let (phone, laptop) = (book(on: "phone"), book(on: "laptop"))
        await phone.write("a", in: "a")
        try await sendAll(phone)
        try await laptop.engine().fetchChanges()
        await laptop.write("b", in: "b")
        try await wait { await laptop.events.last == "stateUpdate" }
        try await laptop.restart()
        await laptop.forgetEvents()
        let engine = await laptop.engine()
        #expect(engine.state.pendingRecordZoneChanges.count == 1)
        try await engine.fetchChanges()
        let events = await laptop.events
        #expect(!events.contains("accountChange"))
        #expect(!events.contains("fetchedRecordZoneChanges"))
        try await engine.sendChanges()
        try await phone.engine().fetchChanges()
        #expect(await phone.notes["b"]?.text == "b")
    }

    @Test func `The event of a deleted zone contains the reason`() async throws {
        let (phone, laptop) = (book(on: "phone"), book(on: "laptop"))
        await phone.write("a", in: "a")
        try await sendAll(phone)
        try await laptop.engine().fetchChanges()
        _ = try await phone.engine().database.deleteRecordZone(withID: NoteBook.zoneID)
        try await laptop.engine().fetchChanges()
        #expect(await laptop.zoneDeletions == [.deleted])
        #expect(await laptop.notes.isEmpty)
    }

    @Test(.needsStore)
    func `An account change clears the changes of the previous user`() async throws {
        let device = fixture.device("phone", of: "anna")
        let book = NoteBook(device.container())
        await book.write("anna's", in: "n")
        try await sendAll(book)
        await book.write("not sent", in: "m")
        device.signIn("ben")
        let engine = await book.engine()
        try await engine.fetchChanges()
        let changes = await book.accountChanges
        guard case .switchAccounts(let old, let new) = try #require(changes.last) else {
            Issue.record("It was \(changes).")
            return
        }
        #expect([old.recordName, new.recordName] == ["anna", "ben"])
        #expect(engine.state.pendingRecordZoneChanges.isEmpty)
        #expect(await book.notes.isEmpty)
        device.signOut()
        await #expect(throws: CKError.self) { try await engine.fetchChanges() }
        #expect(await book.accountChanges.count == 3)
    }

    @Test func `Waiting for the engine in its own callback throws`() async throws {
        let phone = book(on: "phone")
        let heard = Heard<CKError.Code>()
        await phone.whenSent { engine in
            do {
                try await engine.fetchChanges()
            } catch {
                heard.add((error as? CKError)?.code ?? .internalError)
            }
            await engine.cancelOperations()
        }
        await phone.write("a", in: "a")
        let engine = await phone.engine()
        await #expect(throws: CKError.self) { try await engine.sendChanges() }
        #expect(heard.items == [.invalidArguments])
    }

    @Test func `Cancelling the engine resumes its waiters`() async throws {
        let phone = book(on: "phone")
        let engine = await phone.engine()
        let begun = Heard<Bool>()
        await phone.whenSent { engine in
            Task {
                begun.add(true)
                await engine.cancelOperations()
            }
            try? await begun.wait(for: 1)
            try? await Task.sleep(for: .milliseconds(200))
        }
        await phone.addZone()
        for number in 0..<300 { await phone.write("a", in: "n\(number)") }
        let error = await #expect(throws: CKError.self) { try await engine.sendChanges() }
        #expect(error?.code == .operationCancelled)
        #expect(engine.state.pendingRecordZoneChanges.count == 50)
        await phone.whenSent(nil)
        try await engine.sendChanges()
        #expect(engine.state.pendingRecordZoneChanges.isEmpty)
    }

    @Test func `Pending changes hold one change of each record, in order`() async {
        let state = await book(on: "phone").engine().state
        let ids = ["a", "b"].map { CKRecord.ID(recordName: $0, zoneID: NoteBook.zoneID) }
        state.add(pendingRecordZoneChanges: [.saveRecord(ids[0]), .saveRecord(ids[1])])
        state.add(pendingRecordZoneChanges: [.deleteRecord(ids[0]), .saveRecord(ids[1])])
        #expect(state.pendingRecordZoneChanges == [.deleteRecord(ids[0]), .saveRecord(ids[1])])
        state.remove(pendingRecordZoneChanges: [.deleteRecord(ids[0]), .deleteRecord(ids[1])])
        #expect(state.pendingRecordZoneChanges == [.saveRecord(ids[1])])
    }

    @Test func `Deletions are reported in a zone that the engine never fetched`() async throws {
        let (phone, laptop) = (book(on: "phone"), book(on: "laptop"))
        await phone.write("text", in: "gone")
        await phone.write("text", in: "kept")
        try await sendAll(phone)
        try await laptop.engine().fetchChanges()
        await laptop.remove("gone")
        try await laptop.engine().sendChanges()
        try await phone.engine().fetchChanges()
        #expect(await phone.notes.keys.sorted() == ["kept"])
        // Another device never knew it.
        let tablet = book(on: "tablet")
        try await tablet.engine().fetchChanges()
        #expect(await tablet.notes.keys.sorted() == ["kept"])
    }

    /// Sends one batch that the app has put together.
    private actor Sender: CKSyncEngineDelegate {
        private var batch: CKSyncEngine.RecordZoneChangeBatch?
        private(set) var saved: [String] = []
        private(set) var failed: [String: CKError] = [:]
        private(set) var log: [String] = []

        init(_ batch: CKSyncEngine.RecordZoneChangeBatch) { self.batch = batch }

        func nextRecordZoneChangeBatch(
            _ context: CKSyncEngine.SendChangesContext,
            syncEngine: CKSyncEngine
        ) -> CKSyncEngine.RecordZoneChangeBatch? {
            log.append(context.description)
            defer { batch = nil }
            return batch
        }

        func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) {
            guard case .sentRecordZoneChanges(let sent) = event else { return }
            log.append(sent.description)
            saved = sent.savedRecords.map(\.recordID.recordName).sorted()
            for failure in sent.failedRecordSaves {
                failed[failure.record.recordID.recordName] = failure.error
            }
        }
    }

    @Test func `An atomic-by-zone batch reports the result of each record`() async throws {
        let database = fixture.container(on: "phone").privateCloudDatabase
        let zones = ["A", "B"].map { CKRecordZone.ID(zoneName: $0) }
        for zone in zones { _ = try await database.save(CKRecordZone(zoneID: zone)) }
        func record(_ name: String, _ zone: CKRecordZone.ID) -> CKRecord {
            CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name, zoneID: zone))
        }
        _ = try await database.save(record("conflict", zones[0]))
        let records = [
            record("conflict", zones[0]), record("sibling", zones[0]), record("other", zones[1]),
        ]
        let sender = Sender(.init(recordsToSave: records, atomicByZone: true))
        var configuration = CKSyncEngine.Configuration(
            database: database,
            stateSerialization: nil,
            delegate: sender
        )
        configuration.automaticallySync = false
        let engine = CKSyncEngine(configuration)
        engine.state.add(pendingRecordZoneChanges: records.map { .saveRecord($0.recordID) })
        let error = await #expect(throws: CKError.self) { try await engine.sendChanges() }
        #expect(error?.code == .partialFailure)
        #expect(await sender.saved == ["other"])
        let failed = await sender.failed
        #expect(failed["conflict"]?.code == .serverRecordChanged)
        #expect(failed["conflict"]?.serverRecord?.recordID == records[0].recordID)
        #expect(failed["sibling"]?.code == .batchRequestFailed)
        #expect(try await database.record(for: records[2].recordID).recordID == records[2].recordID)
        #expect(
            await sender.log == [
                "manual: all changes", "sentRecordZoneChanges(1 sent, 2 failed)",
            ]
        )
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import CloudKit
import Testing

private let listZone = CKRecordZone.ID(zoneName: "Lists")

/// The delegate of an app whose state belongs to the interface: all of it is on the main actor.
@MainActor
private final class ListModel: CKSyncEngineDelegate {
    var titles: [String: String] = [:]
    var fetchCount = 0

    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
        guard case .fetchedRecordZoneChanges(let changes) = event else { return }
        for modification in changes.modifications {
            let record = modification.record
            titles[record.recordID.recordName] = record["title"]
        }
    }

    func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext,
        syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch? {
        let titles = titles
        return await CKSyncEngine.RecordZoneChangeBatch(
            pendingChanges: syncEngine.state.pendingRecordZoneChanges
        ) { id in
            let record = CKRecord(recordType: "List", recordID: id)
            record["title"] = titles[id.recordName]
            return record
        }
    }

    func nextFetchChangesOptions(
        _ context: CKSyncEngine.FetchChangesContext,
        syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.FetchChangesOptions {
        fetchCount += 1
        return context.options
    }
}

/// The conformance is in an extension, and one of the methods is not asynchronous.
@MainActor
private final class Counter {
    var fetched = 0
}

extension Counter: CKSyncEngineDelegate {
    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) {
        if case .fetchedRecordZoneChanges(let changes) = event {
            fetched += changes.modifications.count
        }
    }

    func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext,
        syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch? {
        nil
    }
}

@Suite struct `Delegates on an actor` {
    private let cloud = TidemarkCloud.temporary()

    private func engine(
        _ device: String,
        _ delegate: any CKSyncEngineDelegate
    ) -> CKSyncEngine {
        let container = TidemarkDevice(cloud, user: "anna", name: device).container()
        var configuration = CKSyncEngine.Configuration(
            database: container.privateCloudDatabase,
            stateSerialization: nil,
            delegate: delegate
        )
        configuration.automaticallySync = false
        return CKSyncEngine(configuration)
    }

    @MainActor @Test func useTheirOwnState() async throws {
        let (sender, receiver, counter) = (ListModel(), ListModel(), Counter())
        sender.titles = ["a": "Groceries"]
        let phone = engine("phone", sender)
        phone.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: listZone))])
        let list = CKRecord.ID(recordName: "a", zoneID: listZone)
        phone.state.add(pendingRecordZoneChanges: [.saveRecord(list)])
        try await phone.sendChanges()
        try await engine("tablet", receiver).fetchChanges()
        try await engine("watch", counter).fetchChanges()
        #expect(receiver.titles == ["a": "Groceries"])
        #expect(receiver.fetchCount > 0)
        #expect(counter.fetched == 1)
    }
}

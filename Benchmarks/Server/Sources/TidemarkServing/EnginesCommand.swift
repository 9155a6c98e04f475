// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import CloudKit

/// Sends notes from one device to another by sync engines, and prints the time of that.
struct EnginesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "engines",
        abstract: "Sends notes from one device to another by sync engines, and prints microseconds."
    )

    @OptionGroup var service: ServiceOptions

    @Option(help: "The number of notes.")
    var notes = 1000

    func run() async throws {
        let (first, second) = try clouds()
        let (phone, laptop) = (NoteDevice(first, "phone"), NoteDevice(second, "laptop"))
        // Both devices are running: the zone exists, and the laptop is up to date.
        try await phone.addZone()
        try await laptop.engine().fetchChanges()
        let time = try await seconds {
            try await phone.send(notes)
            try await laptop.engine().fetchChanges()
        }
        let arrived = await laptop.arrivedCount
        guard arrived == notes else {
            throw ValidationError("\(arrived) of \(notes) notes arrived. Name an empty database.")
        }
        print(Int(time * 1e6))
        await first.close()
        await second.close()
    }

    /// The clouds of the two devices: a store has one writer, so they share its cloud.
    private func clouds() throws -> (TidemarkCloud, TidemarkCloud) {
        if let store = service.store {
            let cloud = TidemarkCloud(storeAt: store)
            return (cloud, cloud)
        }
        guard let url = service.url else { throw ValidationError("Name a --store or a --url.") }
        func cloud() -> TidemarkCloud {
            TidemarkCloud(
                serverAt: url,
                apiToken: service.apiToken,
                webAuthToken: service.webAuthToken
            )
        }
        return (cloud(), cloud())
    }
}

/// A device whose engine syncs when it is told to.
private actor NoteDevice: CKSyncEngineDelegate {
    private static let zoneID = CKRecordZone.ID(zoneName: "Notes")

    /// The number of records that the engine fetched.
    private(set) var arrivedCount = 0
    private let database: CKDatabase
    private var running: CKSyncEngine?

    init(_ cloud: TidemarkCloud, _ name: String) {
        database = TidemarkDevice(cloud, name: name).container().privateCloudDatabase
    }

    func engine() -> CKSyncEngine {
        if let running { return running }
        var configuration = CKSyncEngine.Configuration(
            database: database,
            stateSerialization: nil,
            delegate: self
        )
        configuration.automaticallySync = false
        let engine = CKSyncEngine(configuration)
        running = engine
        return engine
    }

    func addZone() async throws {
        engine().state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: Self.zoneID))])
        try await engine().sendChanges()
    }

    func send(_ count: Int) async throws {
        let ids = (0..<count).map { CKRecord.ID(recordName: "n\($0)", zoneID: Self.zoneID) }
        engine().state.add(pendingRecordZoneChanges: ids.map { .saveRecord($0) })
        try await engine().sendChanges()
    }

    func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext,
        syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch? {
        let scope = context.options.scope
        let changes = syncEngine.state.pendingRecordZoneChanges.filter { scope.contains($0) }
        return await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: changes) { id in
            let record = CKRecord(recordType: "Note", recordID: id)
            record["title"] = "Title of \(id.recordName)"
            record["text"] = "a note of eleven words or so"
            record["edited"] = Date()
            return record
        }
    }

    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
        if case .fetchedRecordZoneChanges(let event) = event {
            arrivedCount += event.modifications.count
        }
    }
}

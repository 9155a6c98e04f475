// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if TidemarkName
import TidemarkCloudKit
#else
import CloudKit
#endif

/// Notes on one device, kept in step by a sync engine, as such code is written.
actor NoteBook: CKSyncEngineDelegate {
    struct Note: Equatable {
        var text: String
        var edited: Date
        /// The system fields of the record as it was last seen.
        var system: Data?
    }

    static let zoneID = CKRecordZone.ID(zoneName: "Notes")

    private(set) var notes: [String: Note] = [:]
    private(set) var state: CKSyncEngine.State.Serialization?
    /// What the engine told, in order.
    private(set) var events: [String] = []
    private(set) var zoneDeletions: [CKDatabase.DatabaseChange.Deletion.Reason] = []
    private(set) var accountChanges: [CKSyncEngine.Event.AccountChange.ChangeType] = []
    private(set) var failures: [CKError.Code] = []
    /// What is done in the next callback for sent records.
    private var onSent: (@Sendable (CKSyncEngine) async -> Void)?
    private var engines: [CKSyncEngine] = []
    private let database: CKDatabase
    private let syncsByItself: Bool

    init(_ container: CKContainer, syncsByItself: Bool = false) {
        database = container.privateCloudDatabase
        self.syncsByItself = syncsByItself
    }

    /// The engine; the first call begins one from what was kept.
    func engine() -> CKSyncEngine {
        if let engine = engines.last { return engine }
        var configuration = CKSyncEngine.Configuration(
            database: database,
            stateSerialization: state,
            delegate: self
        )
        configuration.automaticallySync = syncsByItself
        let engine = CKSyncEngine(configuration)
        engines.append(engine)
        return engine
    }

    /// Ends the engine as when the app is closed, with the state going through JSON.
    func restart() throws {
        engines = []
        if let kept = state {
            let bytes = try JSONEncoder().encode(kept)
            state = try JSONDecoder().decode(CKSyncEngine.State.Serialization.self, from: bytes)
        }
    }

    func addZone() {
        engine().state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: Self.zoneID))])
    }

    func write(_ text: String, in name: String, at edited: Date = Date()) {
        notes[name, default: Note(text: text, edited: edited)].text = text
        notes[name]?.edited = edited
        engine().state.add(pendingRecordZoneChanges: [.saveRecord(id(name))])
    }

    func remove(_ name: String) {
        notes[name] = nil
        engine().state.add(pendingRecordZoneChanges: [.deleteRecord(id(name))])
    }

    func forgetEvents() { events = [] }

    func whenSent(_ body: (@Sendable (CKSyncEngine) async -> Void)?) { onSent = body }

    private func id(_ name: String) -> CKRecord.ID {
        CKRecord.ID(recordName: name, zoneID: Self.zoneID)
    }

    private func record(of id: CKRecord.ID) -> CKRecord? {
        guard let note = notes[id.recordName] else { return nil }
        var record = CKRecord(recordType: "Note", recordID: id)
        if let system = note.system,
            let coder = try? NSKeyedUnarchiver(forReadingFrom: system)
        {
            coder.requiresSecureCoding = true
            record = CKRecord(coder: coder) ?? record
        }
        record["text"] = note.text
        record["edited"] = note.edited
        return record
    }

    /// The later edit wins; returns whether that is ours.
    private func merge(_ record: CKRecord) -> Bool {
        let name = record.recordID.recordName
        let coder = NSKeyedArchiver(requiringSecureCoding: true)
        record.encodeSystemFields(with: coder)
        let theirs = record["edited"] as? Date ?? .distantPast
        if let mine = notes[name], mine.edited > theirs {
            notes[name]?.system = coder.encodedData
            return true
        }
        notes[name] = Note(
            text: record["text"] ?? "",
            edited: theirs,
            system: coder.encodedData
        )
        return false
    }

    // MARK: CKSyncEngineDelegate

    func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext,
        syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch? {
        let scope = context.options.scope
        let changes = syncEngine.state.pendingRecordZoneChanges.filter { scope.contains($0) }
        return await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: changes) { id in
            await self.record(of: id)
        }
    }

    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
        events.append(String("\(event)".prefix { $0 != "(" }))
        switch event {
        case .stateUpdate(let event): state = event.stateSerialization
        case .accountChange(let event):
            accountChanges.append(event.changeType)
            if case .signIn = event.changeType {} else { notes = [:] }
        case .fetchedDatabaseChanges(let event):
            zoneDeletions += event.deletions.map(\.reason)
            if event.deletions.contains(where: { $0.zoneID == Self.zoneID }) { notes = [:] }
        case .fetchedRecordZoneChanges(let event):
            for change in event.modifications { _ = merge(change.record) }
            for change in event.deletions { notes[change.recordID.recordName] = nil }
        case .sentRecordZoneChanges(let event):
            await heard(event, syncEngine)
            await onSent?(syncEngine)
        default: break
        }
    }

    private func heard(
        _ event: CKSyncEngine.Event.SentRecordZoneChanges,
        _ engine: CKSyncEngine
    ) async {
        for record in event.savedRecords { _ = merge(record) }
        for failed in event.failedRecordSaves {
            failures.append(failed.error.code)
            let id = failed.record.recordID
            switch failed.error.code {
            case .serverRecordChanged:
                guard let server = failed.error.serverRecord, merge(server) else { continue }
            case .zoneNotFound:
                engine.state.add(pendingDatabaseChanges: [
                    .saveZone(CKRecordZone(zoneID: id.zoneID))
                ])
                notes[id.recordName]?.system = nil
            case .unknownItem:
                notes[id.recordName]?.system = nil
            default: continue
            }
            engine.state.add(pendingRecordZoneChanges: [.saveRecord(id)])
        }
    }
}

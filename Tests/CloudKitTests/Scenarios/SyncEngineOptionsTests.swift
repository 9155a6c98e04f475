// Tidemark
// SPDX-License-Identifier: Apache-2.0

import CloudKit
import Testing

/// A delegate that changes the options of a fetch while it runs.
@Suite struct `A sync engine with options` {
    /// Changes its options once a zone was fetched.
    private actor Reader: CKSyncEngineDelegate {
        private(set) var fetched: [CKRecordZone.ID] = []
        private(set) var scopes: [CKSyncEngine.FetchChangesOptions.Scope] = []
        private(set) var failedZones: [CKRecordZone] = []
        private(set) var accountChanges: [CKSyncEngine.Event.AccountChange.ChangeType] = []
        private let later: (CKSyncEngine.FetchChangesOptions.Scope, first: [CKRecordZone.ID])

        init(_ scope: CKSyncEngine.FetchChangesOptions.Scope, first: [CKRecordZone.ID] = []) {
            later = (scope, first)
        }

        func nextFetchChangesOptions(
            _ context: CKSyncEngine.FetchChangesContext,
            syncEngine: CKSyncEngine
        ) -> CKSyncEngine.FetchChangesOptions {
            scopes.append(context.options.scope)
            var options = context.options
            guard !fetched.isEmpty else { return options }
            options.scope = later.0
            options.prioritizedZoneIDs = later.first
            return options
        }

        func nextRecordZoneChangeBatch(
            _ context: CKSyncEngine.SendChangesContext,
            syncEngine: CKSyncEngine
        ) -> CKSyncEngine.RecordZoneChangeBatch? { nil }

        func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) {
            switch event {
            case .didFetchRecordZoneChanges(let end): fetched.append(end.zoneID)
            case .sentDatabaseChanges(let sent): failedZones += sent.failedZoneSaves.map(\.zone)
            case .accountChange(let change): accountChanges.append(change.changeType)
            default: break
            }
        }
    }

    private let fixture = CloudFixture()
    private let zones = ["A", "B", "C"].map { CKRecordZone.ID(zoneName: $0) }

    /// Fetches with a delegate from a database of three zones.
    private func fetch(_ reader: Reader) async throws -> CKSyncEngine {
        let database = fixture.container(on: "phone").privateCloudDatabase
        for zone in zones { _ = try await database.save(CKRecordZone(zoneID: zone)) }
        var configuration = CKSyncEngine.Configuration(
            database: database,
            stateSerialization: nil,
            delegate: reader
        )
        configuration.automaticallySync = false
        let engine = CKSyncEngine(configuration)
        try await engine.fetchChanges()
        return engine
    }

    @Test func `A zone comes next that is put first during the fetch`() async throws {
        let reader = Reader(.all, first: [zones[2]])
        _ = try await fetch(reader)
        let names = await reader.fetched.map(\.zoneName)
        #expect(names == ["A", "C", "B"])
        // Before the list of zones and before each zone, with the options of the call.
        #expect(await reader.scopes == [.all, .all, .all, .all])
    }

    @Test func `Zones to save are the objects that the app added`() async throws {
        let reader = Reader(.all)
        let engine = try await fetch(reader)
        // No store accepts a name of this length.
        let zone = CKRecordZone(zoneName: String(repeating: "z", count: 1000))
        zone.encryptionScope = .perZone
        engine.state.add(pendingDatabaseChanges: [.saveZone(zone)])
        guard case .saveZone(let pending) = engine.state.pendingDatabaseChanges.first else {
            Issue.record("The zone is not pending.")
            return
        }
        #expect(pending.encryptionScope == .perZone)
        await #expect(throws: CKError.self) { try await engine.sendChanges() }
        #expect(await reader.failedZones.map(\.encryptionScope) == [.perZone])
        #expect(engine.state.pendingDatabaseChanges.isEmpty)
    }

    @Test func `Configurations are described, and changes of the account compared`() async throws {
        let reader = Reader(.all)
        let engine = try await fetch(reader)
        let configuration = CKSyncEngine.Configuration(
            database: engine.database,
            stateSerialization: nil,
            delegate: reader
        )
        #expect(configuration.description.hasSuffix(", automatic)"))
        let user = try await fixture.container(on: "phone").userRecordID()
        #expect(await reader.accountChanges == [.signIn(currentUser: user)])
        #expect(await reader.accountChanges != [.signOut(previousUser: user)])
    }

    @Test func `A zone is left out that the latest options exclude`() async throws {
        let reader = Reader(.allExcluding([zones[1]]))
        let engine = try await fetch(reader)
        #expect(await reader.fetched == [zones[0], zones[2]])
        #expect(engine.state.zoneIDsWithUnfetchedServerChanges == [zones[1]])
    }
}

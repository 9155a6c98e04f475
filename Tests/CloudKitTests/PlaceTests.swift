// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import Tidemark

@testable import CloudKit
@testable import TidemarkCloudKit

@Suite struct `Where containers point` {
    private let scratch: ScratchFolder
    private var folder: String { scratch.url.path }

    init() throws {
        scratch = try ScratchFolder()
    }

    @Test func `A store at a path is shared by devices and persists`() async throws {
        let path = folder + "/deep/notes.tide"
        let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "n"))
        let cloud = TidemarkCloud(storeAt: path)
        let phone = TidemarkDevice(cloud, name: "phone")
        let laptop = TidemarkDevice(cloud, name: "laptop")
        _ = try await phone.container().privateCloudDatabase.save(record)
        _ = try await laptop.container().privateCloudDatabase.record(for: record.recordID)
        let store = try #require(try await cloud.service() as? Store)
        await cloud.close()
        #expect(
            await code { _ = try await phone.container().privateCloudDatabase.allRecordZones() }
                == .serviceUnavailable
        )
        let again = TidemarkDevice(TidemarkCloud(storeAt: path), name: "phone").container()
        _ = try await again.privateCloudDatabase.record(for: record.recordID)
        #expect(store.lastSequence == .zero)
        // What the command line shows of a store is what an embedded program saves.
        #expect(again.containerIdentifier == ContainerID.standard.identifier)
    }

    @Test func `Opening a store with another writer waits, then fails`() async throws {
        let path = folder + "/notes.tide"
        let cloud = TidemarkCloud(storeAt: path)
        _ = try await cloud.service()
        let other = TidemarkDevice(TidemarkCloud(storeAt: path)).container()
        let began = ContinuousClock.now
        do {
            _ = try await other.privateCloudDatabase.allRecordZones()
            Issue.record("two have the store open for writing")
        } catch let error as CKError {
            #expect(error.code == .serviceUnavailable)
            #expect(error.retryAfterSeconds == 5)
        }
        #expect(ContinuousClock.now - began >= .seconds(5))
        // It is asked again, and waits again; beside many tests the store may be closed late.
        async let zones = Self.zones(of: other)
        try await Task.sleep(for: .milliseconds(100))
        await cloud.close()
        #expect(try await zones.count == 1)
    }

    /// What zones there are, once the store can be opened.
    private static func zones(of container: CKContainer) async throws -> [CKRecordZone] {
        while true {
            do {
                return try await container.privateCloudDatabase.allRecordZones()
            } catch let error as CKError where error.code == .serviceUnavailable {
                continue
            }
        }
    }

    @Test func `The default container is a single object`() {
        // Nothing is opened before something is asked.
        weak let container = CKContainer.default()
        weak let database = container?.privateCloudDatabase
        #expect(container != nil)
        #expect(database != nil)
        #expect(container === CKContainer.default())
        TidemarkDevice.current.run { #expect(container === CKContainer.default()) }
        let other = TidemarkDevice(.temporary(), name: "other")
        other.run { #expect(container != CKContainer.default()) }
    }

    @Test func `A temporary store is removed after its last device`() async throws {
        var path = ""
        do {
            let cloud = TidemarkCloud.temporary()
            path = try #require(cloud.embedded).path
            let device = TidemarkDevice(cloud, user: "anna")
            _ = try await device.container().privateCloudDatabase.allRecordZones()
            #expect(FileManager.default.fileExists(atPath: path))
        }
        for _ in 0..<500 where FileManager.default.fileExists(atPath: path) {
            try await Task.sleep(for: .milliseconds(10))
        }
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    @Test func `The environment sets the store and the signed-in user`() async throws {
        let named = TidemarkDevice.fromEnvironment([
            "TIDEMARK_STORE": folder + "/named.tide", "TIDEMARK_USER": "anna",
        ])
        #expect(named.user == "anna")
        _ = try await named.container().privateCloudDatabase.allRecordZones()
        #expect(FileManager.default.fileExists(atPath: folder + "/named.tide"))
        #expect(TidemarkDevice.fromEnvironment(["TIDEMARK_USER": ""]).user == nil)
        #expect(named.environment == .development)
        for place in ["TIDEMARK_STORE": folder + "/x.tide", "TIDEMARK_URL": "https://example.org"] {
            let device = TidemarkDevice.fromEnvironment([
                place.key: place.value, "TIDEMARK_ENVIRONMENT": "production",
            ])
            #expect(device.environment == .production)
        }

        let plain = TidemarkDevice.fromEnvironment(["XDG_DATA_HOME": folder])
        #expect(plain.user == CKCurrentUserDefaultName)
        #expect(
            plain.cloud.embedded?.path
                == "\(folder)/\(ProcessInfo.processInfo.processName)/cloudkit.tide"
        )
        let home = TidemarkDevice.fromEnvironment(["HOME": folder, "XDG_DATA_HOME": "relative"])
        let name = ProcessInfo.processInfo.processName
        #expect(home.cloud.embedded?.path == "\(folder)/.local/share/\(name)/cloudkit.tide")

        let server = TidemarkDevice.fromEnvironment(["TIDEMARK_URL": "https://example.org"])
        do {
            _ = try await server.container().privateCloudDatabase.allRecordZones()
            Issue.record("a server was asked without a token")
        } catch let error as CKError {
            #expect(error.code == .notAuthenticated)
            #expect(error.localizedDescription.contains("TIDEMARK_API_TOKEN"))
        }
    }

    @Test func `CKContainer.default uses the device that runs the code`() async throws {
        let fixture = CloudFixture()
        let phone = fixture.device("phone")
        let laptop = fixture.device("laptop", of: "ben")
        let mine = phone.run { CKContainer.default() }
        #expect(mine.device === phone)
        #expect(mine.containerIdentifier == "iCloud.example.notes")
        try await laptop.run {
            let container = CKContainer(identifier: "iCloud.example.other")
            #expect(container.device === laptop)
            let user = try await container.userRecordID()
            #expect(user.recordName == "ben")
            // A child task is the device's too, and so is a callback.
            async let child = CKContainer.default().device === laptop
            #expect(await child)
        }
        let heard = Heard<Bool>()
        mine.privateCloudDatabase.fetchAllRecordZones { _, _ in
            heard.add(CKContainer.default().device === phone)
        }
        try await heard.wait(for: 1)
        #expect(heard.items == [true])
    }
}

extension TidemarkCloud {
    /// The store of this process that it points at.
    fileprivate var embedded: EmbeddedStore? {
        guard case .source(let source) = place else { return nil }
        return source as? EmbeddedStore
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Testing

#if TidemarkName
import TidemarkCloudKit
#else
import CloudKit
import Tidemark
#endif

@Suite(.needsCloud) struct `Accounts` {
    #if !TidemarkName
    /// Counts the changes that are posted for one device.
    private func observe(_ device: TidemarkDevice) -> (Heard<Bool>, any NSObjectProtocol) {
        let heard = Heard<Bool>()
        let observer = NotificationCenter.default.addObserver(
            forName: .CKAccountChanged,
            object: device,
            queue: nil
        ) { _ in heard.add(true) }
        return (heard, observer)
    }

    @Test(.timeLimit(.minutes(1)))
    func `The main actor changes the user while observers are on the main queue`()
        async throws
    {
        let device = TidemarkDevice(TidemarkCloud.temporary(), user: "anna", name: "phone")
        let heard = Heard<String?>()
        let observers = [
            (Notification.Name.NSUbiquityIdentityDidChange, nil), (.CKAccountChanged, device),
        ]
        .map { name, object in
            NotificationCenter.default.addObserver(forName: name, object: object, queue: .main) {
                // Devices of other tests change their users too.
                if $0.object as? TidemarkDevice === device { heard.add(device.user) }
            }
        }
        defer { for observer in observers { NotificationCenter.default.removeObserver(observer) } }
        await MainActor.run { device.signOut() }
        try await heard.wait(for: 1)
        await MainActor.run { device.signIn("ben") }
        try await heard.wait(for: 2)
        #expect(heard.items == [nil, "ben"])
    }

    @Test(.needsStore) func `Callers find themselves without an account that an operator set`()
        async throws
    {
        let container = CloudFixture().device("phone", of: "anna").container()
        let me = try await container.userRecordID()
        let identity = try #require(try await container.userIdentity(forUserRecordID: me))
        #expect(identity.userRecordID == me)
        #expect(identity.hasiCloudAccount)
        let ben = CKRecord.ID(recordName: "ben")
        #expect(try await container.userIdentity(forUserRecordID: ben) == nil)
    }

    @Test(.needsStore) func `Only the device whose account changes is notified`() async throws {
        let fixture = CloudFixture()
        let phone = fixture.device("phone", of: "anna")
        let tablet = fixture.device("tablet", of: "ben")
        let (onPhone, first) = observe(phone)
        let (onTablet, second) = observe(tablet)
        defer {
            NotificationCenter.default.removeObserver(first)
            NotificationCenter.default.removeObserver(second)
        }
        #expect(try await phone.container().accountStatus() == .available)
        #expect(try await tablet.container().accountStatus() == .available)
        #expect(try await phone.container().userRecordID().recordName == "anna")

        // An operator says that Ben's account cannot be used.
        let store = try #require(try await fixture.cloud.service() as? Store)
        var ben = UserAccount(UserID("ben"))
        ben.status = .temporarilyUnavailable
        try await store.setUser(ben, of: ContainerID("iCloud.example.notes"))
        try await onTablet.wait(for: 1)
        #expect(onPhone.items.isEmpty)
        let container = tablet.container()
        #expect(try await container.accountStatus() == .temporarilyUnavailable)
        #expect(
            await code { _ = try await container.privateCloudDatabase.allRecordZones() }
                == .accountTemporarilyUnavailable
        )

        // Ben signs out on the tablet, and Anna in.
        tablet.signOut()
        #expect(onTablet.items.count == 2)
        #expect(try await container.accountStatus() == .noAccount)
        tablet.signIn("anna")
        #expect(onTablet.items.count == 3)
        #expect(try await container.accountStatus() == .available)
        #expect(try await container.userRecordID().recordName == "anna")
        #expect(onPhone.items.isEmpty)
    }
    #endif

    @Test func `Two users have separate private databases`() async throws {
        let fixture = CloudFixture()
        let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "n"))
        let anna = fixture.container(on: "phone", of: "anna")
        let ben = fixture.container(on: "tablet", of: "ben")
        let (annaID, benID) = (try await anna.userRecordID(), try await ben.userRecordID())
        #expect(annaID != benID)
        _ = try await anna.privateCloudDatabase.save(record)
        #expect(
            await code {
                _ = try await ben.privateCloudDatabase.record(for: record.recordID)
            } == .unknownItem
        )
        let open = CKRecord(recordType: "Post", recordID: CKRecord.ID(recordName: "p"))
        _ = try await anna.publicCloudDatabase.save(open)
        let seen = try await ben.publicCloudDatabase.record(for: open.recordID)
        #expect(seen.creatorUserRecordID?.recordName == annaID.recordName)
        // The record of a user can be fetched without its name.
        let users = Heard<CKRecord>()
        let operation = CKFetchRecordsOperation.fetchCurrentUserRecordOperation()
        operation.perRecordResultBlock = { _, result in
            if case .success(let record) = result { users.add(record) }
        }
        await operation.run { ben.publicCloudDatabase.add($0) }
        #expect(users.items.map(\.recordID.recordName) == [benID.recordName])
        #expect(users.items.map(\.recordType) == [CKRecord.SystemType.userRecord])
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import Tidemark
import TidemarkModel

@Suite struct AccountTests {
    let folder: ScratchFolder
    let store: Store

    init() throws {
        folder = try ScratchFolder()
        store = try Store.open(at: folder.path(), access: .creating)
    }

    private func account(
        _ user: String,
        _ change: (inout UserAccount) -> Void = { _ in }
    ) -> UserAccount {
        var account = UserAccount(UserID(user))
        change(&account)
        return account
    }

    private var anna: UserAccount {
        account("_anna") {
            $0.emails = ["Anna@Example.org", "a@example.org"]
            $0.phones = ["+49 (30) 1234"]
            $0.name = PersonName(givenName: "Anna", familyName: "Lind", nickname: "An")
            $0.isDiscoverable = true
            $0.contacts = [.email("bert@example.org"), .user(UserID("_carl"))]
        }
    }

    private func caller(_ user: String?, _ scope: DatabaseScope = .private) -> Caller {
        let user = user.map { UserID($0) }
        return Caller(database: DatabaseID(scope: scope, owner: user ?? .current), user: user)
    }

    private func find(_ text: String, as user: String = "_bert") async throws -> UserID? {
        try await store.lookUpUsers([UserLookup(text)], as: caller(user))[0]?.user
    }

    // MARK: Identities

    @Test func `User accounts persist across restarts`() async throws {
        try await store.setUser(anna)
        try await store.setUser(account("_bert") { $0.status = .restricted })
        #expect(try store.account(of: UserID("_anna")) == anna)
        #expect(try store.account(of: UserID("_carl")) == nil)
        try store.close()
        let again = try Store.open(at: folder.path())
        #expect(try again.account(of: UserID("_anna")) == anna)
        #expect(try again.accounts().map(\.user.userRecordName) == ["_anna", "_bert"])
        #expect(try again.accounts(in: .production).isEmpty)
        #expect(try again.accounts(of: ContainerID("iCloud.other")).isEmpty)
        try again.close()
    }

    @Test(arguments: [
        "anna@example.org", "ANNA@EXAMPLE.ORG", "a@example.org", "+49301234", "+49-30-1234",
        "_anna",
    ])
    func `A discoverable user is found by any spelling`(text: String) async throws {
        try await store.setUser(anna)
        let lookup = UserLookup(text)
        let found = try await store.lookUpUsers([lookup], as: caller("_bert"))
        let identity = UserIdentity(user: anna.user, lookup: lookup, name: anna.name)
        #expect(found == [identity])
    }

    @Test func `A user who is not discoverable is found only by themself`() async throws {
        var hidden = anna
        hidden.isDiscoverable = false
        try await store.setUser(hidden)
        for text in ["a@example.org", "+49301234", "_anna"] {
            #expect(try await find(text) == nil)
            #expect(try await find(text, as: "_anna") == UserID("_anna"))
        }
        #expect(try await find("nobody@example.org") == nil)
    }

    @Test func `A removed address finds nobody and can be reused`() async throws {
        try await store.setUser(anna)
        var moved = anna
        moved.emails = ["a@example.org"]
        try await store.setUser(moved)
        #expect(try await find("anna@example.org") == nil)
        #expect(try await find("a@example.org") == UserID("_anna"))
        try await store.setUser(
            account("_carl") {
                $0.emails = ["anna@example.org"]
                $0.isDiscoverable = true
            }
        )
        #expect(try await find("anna@example.org") == UserID("_carl"))
    }

    @Test func `An address belongs to one user`() async throws {
        try await store.setUser(anna)
        let before = store.lastSequence
        for change in [
            account("_bert") { $0.emails = ["A@example.org"] },
            account("_bert") { $0.phones = ["+49301234"] },
        ] {
            let error = await #expect(throws: SyncError.self) { try await store.setUser(change) }
            #expect(error?.code == .constraintViolation)
            #expect(error?.message.contains("belongs to _anna") == true)
        }
        #expect(store.lastSequence == before)
        // The same twice is no change, and the same address twice is one.
        try await store.setUser(anna)
        #expect(store.lastSequence == before)
        var twice = anna
        twice.emails = ["a@example.org", "A@EXAMPLE.org"]
        try await store.setUser(twice)
        #expect(try await find("a@example.org") == UserID("_anna"))
    }

    @Test(arguments: ["", "x", "@", "a@", "a@b@c"])
    func `An invalid address is rejected`(text: String) async throws {
        let error = await #expect(throws: SyncError.self) {
            try await store.setUser(account("_anna") { $0.emails = [text] })
        }
        #expect(error?.code == .invalidArguments)
        let other = await #expect(throws: SyncError.self) {
            try await store.setUser(account("_anna") { $0.phones = [text] })
        }
        #expect(other?.code == .invalidArguments)
        #expect(try store.accounts().isEmpty)
    }

    @Test func `Reserved names cannot be users`() async throws {
        for name in ["__defaultOwner__", "email/a@b", "phone/1", ""] {
            #expect(await refusal { try await store.setUser(account(name)) } == .invalidArguments)
        }
    }

    @Test func `Contacts are the discoverable users`() async throws {
        try await store.setUser(anna)
        #expect(try await store.contacts(as: caller("_anna")).isEmpty)
        try await store.setUser(
            account("_bert") {
                $0.emails = ["bert@example.org"]
                $0.isDiscoverable = true
            }
        )
        try await store.setUser(account("_carl"))
        let contacts = try await store.contacts(as: caller("_anna"))
        let bert = UserIdentity(user: UserID("_bert"), lookup: .email("bert@example.org"))
        #expect(contacts == [bert])
        #expect(try await store.contacts(as: caller("_bert")).isEmpty)
        #expect(try await store.contacts(as: Caller()).isEmpty)
    }

    @Test func `An export contains users`() async throws {
        try await store.setUser(anna)
        let lines = try store.commits()
        let copy = try Store.open(at: folder.path("copy.tide"), access: .creating)
        try await copy.importLines(lines)
        #expect(try copy.accounts() == [anna])
        let found = try await copy.lookUpUsers([.phone("+49301234")], as: caller("_bert"))
        #expect(found[0]?.user == anna.user)
        try copy.close()
    }

    @Test func `Clients cannot see the records of accounts`() async throws {
        try await store.setUser(anna)
        let caller = caller("_anna", .public)
        #expect(try await store.zones(as: caller).map(\.zoneID) == [.default])
        let zone = ZoneID(zoneName: "_users")
        await #expect(throws: SyncError.self) {
            try await store.zoneChanges(ZoneChangesRequest(zone: zone), as: caller)
        }
        let request = FetchRecordsRequest([RecordID(recordName: "_anna", zone: zone)])
        #expect(try await store.fetchRecords(request, as: caller)[0].error != nil)
    }

    // MARK: Status

    @Test(arguments: AccountStatus.allCases)
    func `The account status allows or rejects private and public calls`(
        status: AccountStatus
    )
        async throws
    {
        try await store.setUser(account("_anna") { $0.status = status })
        let expected: SyncError.Code? =
            switch status {
            case .available: nil
            case .restricted, .noAccount: .notAuthenticated
            case .temporarilyUnavailable, .couldNotDetermine: .accountTemporarilyUnavailable
            }
        #expect(try await store.accountStatus(as: caller("_anna")) == status)
        let own = caller("_anna")
        let empty = ModifyRecordsRequest()
        let fetch = FetchRecordsRequest([])
        #expect(await refusal { try await store.modifyRecords(empty, as: own) } == expected)
        #expect(await refusal { try await store.fetchRecords(fetch, as: own) } == expected)
        #expect(await refusal { try await store.zones(as: own) } == expected)
        let delta = ZoneChangesRequest(zone: .default)
        #expect(await refusal { try await store.zoneChanges(delta, as: own) } == expected)
        #expect(await refusal { try await store.currentUser(as: own) } == expected)
        #expect(await refusal { try await store.lookUpUsers([], as: own) } == expected)
        let everybody = caller("_anna", .public)
        #expect(await refusal { try await store.fetchRecords(fetch, as: everybody) } == nil)
        let writes = await refusal { try await store.modifyRecords(empty, as: everybody) }
        #expect(writes == (expected == .notAuthenticated ? expected : nil))
    }

    @Test func `A status applies to the next call, in its environment`() async throws {
        let fetch = FetchRecordsRequest([])
        _ = try await store.fetchRecords(fetch, as: caller("_anna"))
        for status in [AccountStatus.restricted, .available, .noAccount] {
            try await store.setUser(account("_anna") { $0.status = status })
            #expect(try await store.accountStatus(as: caller("_anna")) == status)
        }
        let error = await #expect(throws: SyncError.self) {
            try await store.fetchRecords(fetch, as: caller("_anna"))
        }
        #expect(error?.message == "The account of _anna cannot be used: noAccount.")
        var released = caller("_anna")
        released.database.environment = .production
        _ = try await store.fetchRecords(fetch, as: released)
        _ = try await store.fetchRecords(fetch, as: caller("_bert"))
    }

    @Test func `Every change of a status is in the log`() async throws {
        for status in [AccountStatus.restricted, .available] {
            try await store.setUser(account("_anna") { $0.status = status })
        }
        var statuses: [String?] = []
        try store.visitCommits { line in
            for case .save(_, _, let fields, _) in line.changes {
                if case .string(let name)? = fields["status"] {
                    statuses.append(name)
                } else {
                    statuses.append(nil)
                }
            }
            return true
        }
        #expect(statuses == ["restricted", nil])
    }

    @Test func `An unnamed caller always exists, and an anonymous one never does`() async throws {
        #expect(try await store.accountStatus(as: Caller()) == .available)
        #expect(try await store.currentUser(as: Caller()) == .current)
        #expect(try await store.accountStatus(as: caller(nil, .public)) == .noAccount)
        let error = await #expect(throws: SyncError.self) {
            try await store.currentUser(as: caller(nil, .public))
        }
        #expect(error?.code == .notAuthenticated)
        let other = await #expect(throws: SyncError.self) {
            try await store.lookUpUsers([.user(UserID("_anna"))], as: caller(nil, .public))
        }
        #expect(other?.code == .notAuthenticated)
    }
}

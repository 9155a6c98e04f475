// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import Tidemark
import TidemarkModel

/// What clients hear of the status of their user's account.
@Suite struct AccountChangeTests {
    let folder: ScratchFolder
    let store: Store

    init() throws {
        folder = try ScratchFolder()
        store = try Store.open(at: folder.path(), access: .creating)
    }

    private func caller(_ user: String?, on device: String = "phone") -> Caller {
        let user = user.map { UserID($0) }
        return Caller(database: DatabaseID(owner: user ?? .current), user: user, device: device)
    }

    private func set(
        _ status: AccountStatus,
        of user: String,
        in environment: Environment = .development
    ) async throws {
        var account = UserAccount(UserID(user))
        account.status = status
        try await store.setUser(account, in: environment)
    }

    /// A client that listens, up to a status or to the end; what it heard.
    private func listen(
        _ caller: Caller,
        until last: AccountStatus? = nil
    ) async throws -> Task<[AccountStatus], any Error> {
        let statuses = try await store.accountStatuses(as: caller)
        return Task {
            var heard: [AccountStatus] = []
            for try await status in statuses {
                heard.append(status)
                if status == last { break }
            }
            return heard
        }
    }

    @Test func `Only the clients of a user are notified of each change`() async throws {
        let phone = try await listen(caller("_anna"), until: .noAccount)
        let bert = try await listen(caller("_bert"), until: .restricted)
        var pad = try await store.accountStatuses(as: caller("_anna", on: "pad"))
            .makeAsyncIterator()
        let statuses = [AccountStatus.available, .temporarilyUnavailable, .restricted, .noAccount]
        for status in statuses {
            try await set(status, of: "_anna")
            #expect(try await pad.next() == status)
        }
        // One that waits hears the last at least, and nothing twice.
        let heard = try await phone.value
        #expect(heard == statuses.filter(heard.contains))
        #expect(heard.last == .noAccount)
        // What the stream says holds for the next call.
        let refused = await #expect(throws: SyncError.self) {
            try await store.zones(as: caller("_anna", on: "pad"))
        }
        #expect(refused?.code == .notAuthenticated)
        try await set(.restricted, of: "_bert")
        #expect(try await bert.value == [.available, .restricted])
    }

    @Test func `A change that keeps the status is not reported`() async throws {
        var heard = try await store.accountStatuses(as: caller("_anna")).makeAsyncIterator()
        #expect(try await heard.next() == .available)
        var account = UserAccount(UserID("_anna"))
        account.emails = ["anna@example.org"]
        try await store.setUser(account)
        try await set(.restricted, of: "_anna", in: .production)
        // Gone again before anybody looked.
        try await set(.restricted, of: "_anna")
        try await set(.available, of: "_anna")
        try await set(.noAccount, of: "_anna")
        #expect(try await heard.next() == .noAccount)
    }

    @Test func `An import is reported before it is finished`() async throws {
        let anna = try await listen(caller("_anna"), until: .temporarilyUnavailable)
        let other = try Store.open(at: folder.path("other.tide"), access: .creating)
        var account = UserAccount(UserID("_anna"))
        account.status = .temporarilyUnavailable
        try await other.setUser(account)
        let lines = try other.commits()
        try other.close()
        var importing = try store.beginImport()
        for line in lines { _ = try await importing.add(line) }
        #expect(try await anna.value == [.available, .temporarilyUnavailable])
        try await importing.finish()
    }

    @Test func `Anonymous callers have no account, unnamed ones always have one`() async throws {
        let nobody = try await listen(caller(nil))
        let anybody = try await listen(Caller(database: .standard, user: .current))
        var first = try await store.accountStatuses(as: caller(nil)).makeAsyncIterator()
        #expect(try await first.next() == .noAccount)
        try store.close()
        #expect(try await first.next() == nil)
        #expect(try await nobody.value == [.noAccount])
        #expect(try await anybody.value == [.available])
        #expect(await refusal { try await listen(caller("_anna")) } == .serviceUnavailable)
    }

    @Test func `A stream ends with its task, and a reader's stream with its store`() async throws {
        try await set(.restricted, of: "_anna")
        let task = try await listen(caller("_anna"))
        task.cancel()
        #expect(try await [[], [.restricted]].contains(task.value))
        // Beside a writer, a reader is a moment behind.
        try store.close()
        let reader = try Store.open(at: folder.path(), access: .reading)
        var read = try await reader.accountStatuses(as: caller("_anna")).makeAsyncIterator()
        #expect(try await read.next() == .restricted)
        try reader.close()
        #expect(try await read.next() == nil)
    }

    /// Statuses change while streams look and wait: whoever listens ends with the last one.
    @Test func `No change is missed between reading and waiting`() async throws {
        var listeners: [Task<[AccountStatus], any Error>] = []
        for _ in 0..<4 { listeners.append(try await listen(caller("_anna"), until: .noAccount)) }
        for number in 0..<60 {
            try await set(number % 2 == 0 ? .restricted : .available, of: "_anna")
        }
        try await set(.noAccount, of: "_anna")
        for listener in listeners {
            let heard = try await listener.value
            #expect(heard.last == .noAccount)
            #expect(zip(heard, heard.dropFirst()).allSatisfy { $0 != $1 })
        }
    }
}

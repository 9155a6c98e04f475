// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import TidemarkAdministration
import TidemarkLog
import TidemarkModel

@testable import Tidemark
@testable import TidemarkCommand

/// `log tail` at a server whose connection is lost.
@Suite struct FollowedEventsTests {
    let folder: ScratchFolder
    let store: Store

    init() throws {
        folder = try ScratchFolder()
        store = try Store.open(at: folder.path(), access: .creating)
    }

    private func save(_ name: String) async throws {
        let note = RecordSave(RecordID(recordName: name), type: "Note", fields: ["text": "a"])
        let request = ModifyRecordsRequest(saves: [note])
        _ = try await store.modifyRecords(request, as: Caller()).saves[0].get()
    }

    private func followed(by loss: UnsteadyService.Loss) -> FollowedEvents {
        let files = StoreAdministration(of: store, at: folder.path())
        return FollowedEvents(service: UnsteadyService(files: files, loss: loss), pause: .zero)
    }

    private func call(newest: UInt64, limit: Int) -> EventsCall {
        var call = EventsCall()
        call.filter.type = "Note"
        call.newest = newest
        call.limit = limit
        call.follows = true
        return call
    }

    @Test(.timeLimit(.minutes(1)), arguments: [0, 1] as [UInt64])
    func `Events of an outage before the first line are printed`(newest: UInt64) async throws {
        defer { try? store.close() }
        try await save("Before")
        let events = followed(
            by: .beforeFirst {
                try await save("During")
                try await save("Late")
            }
        )
        let expected = ["Before", "During", "Late"].suffix(Int(newest) + 2)
        var names: [String] = []
        let answer = try await events.pass(call(newest: newest, limit: expected.count)) {
            names.append($0.recordName ?? "")
        }
        #expect(names == Array(expected))
        #expect(answer?.damage.isEmpty == true)
    }

    @Test(.timeLimit(.minutes(1)))
    func `A connection that is lost after the last event is not made again`() async throws {
        defer { try? store.close() }
        try await save("Before")
        var names: [String] = []
        let answer = try await followed(by: .afterLast).pass(call(newest: 1, limit: 1)) {
            names.append($0.recordName ?? "")
        }
        #expect(names == ["Before"])
        let isMissing = answer == nil
        #expect(isMissing)
    }

    /// Erases; returns true if a reader was in the way.
    private func isRefused(
        _ call: ErasureCall,
        _ files: StoreAdministration
    ) async throws -> Bool {
        // The time limit of the test cancels it.
        try Task.checkCancellation()
        do {
            _ = try await files.answer(call)
            return false
        } catch let error as LogError where error.code == .locked {
            return true
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func `Something is erased while events are followed, and they continue`() async throws {
        defer { try? store.close() }
        try await save("Before")
        let files = StoreAdministration(of: store, at: folder.path())
        let events = FollowedEvents(service: files, pause: .milliseconds(10))
        let call = call(newest: 1, limit: 2)
        let (names, found) = AsyncStream.makeStream(of: String.self)
        let following = Task {
            try await events.pass(call) { found.yield($0.recordName ?? "") }
        }
        var told = names.makeAsyncIterator()
        let before = await told.next()
        #expect(before == "Before")
        // Beside other tests, the call that follows may be too late to make way for the first one.
        while try await isRefused(ErasureCall(.user(UserID("_zelda"))), files) {}
        try await save("After")
        let after = await told.next()
        #expect(after == "After")
        _ = try await following.value
    }

    @Test func `No call begins to read the files while something is erased`() async throws {
        defer { try? store.close() }
        try await save("Before")
        let files = StoreAdministration(of: store, at: folder.path())
        func isRefused<Call: AdministrationCall>(_ call: Call) async throws -> Bool {
            do {
                _ = try await files.answer(call, report: { _, _ in }, receive: { _ in })
                return false
            } catch let error as SyncError where error.code == .serviceUnavailable {
                return true
            }
        }
        let calls: [any AdministrationCall] = [
            EventsCall(), ReplayCall(), ReplayCall(comparesViews: true), VerificationCall(),
            BackupCall(to: folder.path("backup")),
        ]
        store.erasureCount.withLock { $0 += 1 }
        for call in calls {
            let refused = try await isRefused(call)
            #expect(refused, "\(call)")
        }
        store.erasureCount.withLock { $0 -= 1 }
        for call in calls {
            let refused = try await isRefused(call)
            #expect(!refused, "\(call)")
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func `A server that never answers is reported`() async throws {
        defer { try? store.close() }
        let error = await #expect(throws: SyncError.self) {
            _ = try await followed(by: .always).pass(call(newest: 0, limit: 1)) { _ in }
        }
        #expect(error?.code == .networkUnavailable)
    }
}

/// The administration of a store over a connection that is lost.
private struct UnsteadyService: AdministrationService {
    enum Loss: Sendable {
        /// The first call that follows the log is lost before its first event, and something happens
        /// until the next one.
        case beforeFirst(@Sendable () async throws -> Void)
        /// A call that follows the log is lost before its answer, and so are all later ones.
        case afterLast
        /// All calls are lost.
        case always
    }

    private actor Count {
        private var count = 0

        /// Counts one more, and returns the number before.
        func add() -> Int {
            defer { count += 1 }
            return count
        }

        var isZero: Bool { count == 0 }
    }

    let files: StoreAdministration
    let loss: Loss
    private let losses = Count()
    private let lost = SyncError(.networkUnavailable, "The server cannot be reached.")

    init(files: StoreAdministration, loss: Loss) {
        self.files = files
        self.loss = loss
    }

    func answer<Call: AdministrationCall>(
        _ call: Call,
        report: @escaping @Sendable (UInt64, UInt64) -> Void,
        receive: (Call.Piece) async throws -> Void
    ) async throws -> Call.Answer {
        let follows = (call as? EventsCall)?.follows == true
        switch loss {
        case .beforeFirst(let happen):
            if follows, await losses.add() == 0 {
                try await happen()
                throw lost
            }
        case .afterLast:
            guard await losses.isZero else { throw lost }
            let answer = try await files.answer(call, report: report, receive: receive)
            guard follows else { return answer }
            _ = await losses.add()
            throw lost
        case .always: throw lost
        }
        return try await files.answer(call, report: report, receive: receive)
    }
}

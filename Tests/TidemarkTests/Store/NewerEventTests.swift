// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import Tidemark
import TidemarkEvents
import TidemarkLog
import TidemarkModel

/// Logs with events of kinds that this version does not know.
@Suite struct NewerEventTests {
    let folder: ScratchFolder

    init() async throws {
        folder = try ScratchFolder()
        let store = try Store.open(at: folder.path(), access: .creating)
        let anna = Client(store: store)
        try await anna.createZone()
        try await anna.modify([try anna.save("before", ["n": 1])])
        try store.close()
    }

    /// Appends an event as a newer version would.
    private func append(_ payload: [UInt8], zone: ZoneKey = 0) throws {
        let (log, _) = try SegmentLog.open(
            folder.path(),
            creating: false,
            configuration: LogConfiguration(),
            environment: StoreEnvironment().log,
            onDurable: { _ in }
        )
        var draft = CommitDraft(
            time: log.lastTime,
            received: log.lastTime,
            envelope: CommitEnvelope(user: "_anna").bytes
        )
        draft.append(zone: zone) { $0.append(contentsOf: payload) }
        _ = try log.append(draft)
        try log.close()
    }

    @Test func `Unknown event kinds from 128 are skipped and kept`() async throws {
        try append([200, 1, 2, 3])
        let store = try Store.open(at: folder.path())
        let anna = Client(store: store)
        try await anna.modify([try anna.save("after", ["n": 2])])
        #expect(try await anna.changes().changes.count == 2)
        _ = try await store.compact()
        try store.close()
        let (reader, begun) = try ViewsCheck.begin(at: folder.path())
        var check = begun
        var decoder = EventDecoder(source: reader)
        var skipped: [[UInt8]] = []
        var failure: (any Error)?
        let result = try reader.verify { event in
            do {
                try check.add(event)
                let decoded = try decoder.decode(event)
                if case .skipped(kind: 200) = decoded.fact { skipped.append(Array(event.payload)) }
            } catch {
                failure = error
            }
        }
        #expect(failure == nil && result.damage.isEmpty)
        #expect(try check.finish(isLogSound: true).isEmpty)
        #expect(skipped == [[200, 1, 2, 3]])
    }

    @Test func `Unknown event kinds from 128 change neither the past nor an export`() async throws {
        var zone: ZoneKey = 0
        let log = try LogReader(folder.path(), fileSystem: PosixFileSystem())
        try log.scan(from: SequenceNumber(rawValue: 1), through: log.durableSequence) { event in
            if event.kind == .zoneCreated { zone = ZoneKey(createdAt: event.sequence) }
            return true
        }
        try append([200, 1, 2, 3])
        try append([201, 1, 2, 3], zone: zone)
        let store = try Store.open(at: folder.path())
        let anna = Client(store: store)
        let past = try await store.zoneChanges(
            ZoneChangesRequest(zone: anna.zone),
            as: anna.caller,
            asOf: store.lastSequence
        )
        #expect(past.changes.count == 1)
        var saved: [String] = []
        try store.visitCommits { line in
            for case .save(let id, "Note", _, _) in line.changes { saved.append(id.recordName) }
            return true
        }
        #expect(saved == ["before"])
        try store.close()
    }

    @Test func `An unknown event kind below 128 makes the log unreadable`() throws {
        try append([100, 1, 2, 3])
        let error = #expect(throws: LogError.self) { try Store.open(at: folder.path()) }
        #expect(error?.message.contains("kind 100") ?? false)
    }
}

@Suite struct AuthenticationTests {
    @Test func `A store can reject users who are not authenticated`() async throws {
        let folder = try ScratchFolder()
        var options = StoreOptions()
        options.requiresAuthentication = true
        let store = try Store.open(at: folder.path(), access: .creating, options: options)
        var anna = Client(store: store)
        #expect(await refusal { try await anna.createZone() } == .notAuthenticated)
        anna.caller.authentication = .session(id: "s-1")
        anna.caller.trace = TraceContext(
            traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        )
        // The database that an embedded store opens to all callers.
        #expect(await refusal { try await anna.createZone() } == .permissionFailure)
        anna.caller.database = DatabaseID(owner: UserID("_anna"))
        try await anna.createZone()
        let reader = Caller(database: DatabaseID(scope: .public), user: nil)
        let found = try await store.fetchRecords(FetchRecordsRequest([]), as: reader)
        #expect(found.isEmpty)
        try store.close()
        let log = try LogReader(folder.path(), fileSystem: PosixFileSystem())
        var envelopes: [CommitEnvelope] = []
        try log.scan(from: SequenceNumber(rawValue: 1), through: log.durableSequence) { event in
            if let envelope = try? CommitEnvelope(event.envelope.span.bytes) {
                envelopes.append(envelope)
            }
            return true
        }
        let own = try #require(envelopes.first { $0.user != nil })
        #expect(own.extras.authentication == .session(id: "s-1"))
        #expect(own.extras.trace == anna.caller.trace)
    }
}

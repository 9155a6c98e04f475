// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import NIOCore
import NIOPosix
import Testing
import Tidemark
import TidemarkLock
import TidemarkModel

@testable import TidemarkClient
@testable import TidemarkServer

/// The threads on which requests are answered, and the time that they keep an event loop's thread.
@Suite struct EventLoopTests {
    /// The calls of a store, with the threads on which they began.
    private final class Calls: StoreObserver {
        struct Call: Sendable {
            let kind: JournalEntry.Call
            let isOnLoop: Bool
            /// The number of earlier calls after which the loop has taken up other work.
            let turnCount: Int
        }

        private let turns = Lock(0)
        private let calls = Lock<[Call]>([])

        func begins(_ work: StoreWork) -> (any StoreWorkObserver)? {
            // The server's own reads of sessions are in another container.
            guard case .call(let call) = work, call.caller.database.container == .standard else {
                return nil
            }
            let loop = MultiThreadedEventLoopGroup.currentEventLoop
            let turnCount = turns.withLock(\.self)
            calls.withLock {
                $0.append(Call(kind: call.kind, isOnLoop: loop != nil, turnCount: turnCount))
            }
            loop?.execute { self.turns.withLock { $0 += 1 } }
            return nil
        }

        func notes(_ fact: StoreFact) {}

        /// Returns the calls of a kind, and forgets all.
        func take(_ kind: JournalEntry.Call) -> [Call] {
            calls.withLock { calls in
                defer { calls = [] }
                return calls.filter { $0.kind == kind }
            }
        }
    }

    @Test func `Short requests stay on the event loop, and long ones do not`() async throws {
        let calls = Calls()
        try await ServerUnderTest.run(observer: calls) { server in
            let web = try await server.signIn("ann")
            func isOnLoop(
                _ kind: JournalEntry.Call,
                _ endpoint: String,
                _ body: String
            ) async throws -> [Bool] {
                _ = calls.take(kind)
                let answer = try await server.send("private/\(endpoint)", body, web: web)
                #expect(answer.status == 200, "\(answer.text)")
                return calls.take(kind).map(\.isOnLoop)
            }
            let save =
                #"{"operations":[{"operationType":"create","record":{"recordName":"a","#
                + #""recordType":"Note","fields":{"title":{"value":"a"}}}}]}"#
            #expect(try await isOnLoop(.modifyRecords, "records/modify", save) == [true])
            let name = #"{"recordName":"a"}"#
            let one = #"{"records":[\#(name)]}"#
            #expect(try await isOnLoop(.fetchRecords, "records/lookup", one) == [true])
            let names = Array(repeating: name, count: 100).joined(separator: ",")
            let many = #"{"records":[\#(names)]}"#
            #expect(try await isOnLoop(.fetchRecords, "records/lookup", many) == [false])
            let query = #"{"query":{"recordType":"Note"}}"#
            #expect(try await isOnLoop(.query, "records/query", query) == [false])
        }
    }

    @Test func `Calls of Tidemark's own clients leave the event loop in the same cases`()
        async throws
    {
        let calls = Calls()
        try await ServerUnderTest.run(observer: calls) { server in
            let web = try await server.signIn("ann")
            let vouched = try await server.caller(web)
            let note = RecordID(recordName: "a")
            try await server.store.saveNote(note, ["title": "a"], as: vouched)
            let connection = try ServerConnection(
                to: "http://localhost:\(server.client.port ?? 0)",
                credentials: .user(apiToken: server.token, webAuthToken: web)
            )
            let service = connection.service
            let caller = Caller(user: vouched.user)
            func isFetchedOnLoop(_ ids: [RecordID]) async throws -> [Bool] {
                _ = calls.take(.fetchRecords)
                _ = try await service.fetchRecords(FetchRecordsRequest(ids), as: caller)
                return calls.take(.fetchRecords).map(\.isOnLoop)
            }
            #expect(try await isFetchedOnLoop([note]) == [true])
            let many = (0..<100).map { RecordID(recordName: "a name of more than 30 bytes: \($0)") }
            #expect(try await isFetchedOnLoop(many) == [false])
            let query = Query(recordType: "Note", predicate: .always)
            _ = try await service.query(QueryRequest(query, in: ZoneID.default), as: caller)
            #expect(calls.take(.query).map(\.isOnLoop) == [false])
            await connection.close()
        }
    }

    @Test func `Between large pages of zones, the event loop takes up other work`() async throws {
        let calls = Calls()
        try await ServerUnderTest.run(observer: calls) { server in
            let web = try await server.signIn("ann")
            let caller = try await server.caller(web)
            let zones = ["A", "B"].map { ZoneID(zoneName: $0) }
            let made = try await server.store.modifyZones(
                ModifyZonesRequest(saves: zones),
                as: caller
            )
            for result in made.saves { _ = try result.get() }
            for zone in zones {
                try await server.store.saveNote(
                    RecordID(recordName: "r", zone: zone),
                    ["text": String(repeating: "x", count: 300_000)],
                    as: caller
                )
            }
            _ = calls.take(.zoneChanges)
            let answer = try await server.send(
                "private/changes/zone",
                #"{"zones":[{"zoneID":{"zoneName":"A"}},{"zoneID":{"zoneName":"B"}}]}"#,
                web: web
            )
            #expect(answer.body.count > 600_000)
            let pages = calls.take(.zoneChanges)
            #expect(pages.map(\.isOnLoop) == [true, true])
            #expect(pages.first.map(\.turnCount) != pages.last.map(\.turnCount))
        }
    }
}
#endif

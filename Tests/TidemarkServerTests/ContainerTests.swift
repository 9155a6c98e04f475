// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import Foundation
import HTTPTypes
import Testing
import Tidemark
import TidemarkModel
import TidemarkWire

@testable import TidemarkServer

/// What one container may hold and keep busy.
@Suite struct ContainerTests {
    private static let other = ContainerID("iCloud.other")

    /// Sends a request to the other container.
    private func sendToOther(
        _ server: ServerUnderTest,
        _ endpoint: String,
        _ body: String = "",
        token: String
    ) async throws -> Answer {
        let path = "/database/1/\(Self.other.identifier)/development/public/\(endpoint)"
        return try await server.request(
            "\(path)?ckAPIToken=\(token)",
            .post,
            Array(body.utf8)
        )
    }

    /// Calls a method for Tidemark's own clients, without a value.
    private func call(_ server: ServerUnderTest, _ method: String) async throws -> Answer {
        let path = "/tidemark/1/iCloud.tidemark/development/public/\(method)"
        return try await server.request(
            "\(path)?ckAPIToken=\(server.token)",
            .post,
            Array("{}".utf8),
            [.contentType: WireForm.json.mediaType]
        )
    }

    private func set(
        _ server: ServerUnderTest,
        _ change: (inout ContainerLimits) -> Void
    ) async throws {
        var limits = ContainerLimits(.standard)
        change(&limits)
        try await server.server.directory.setLimits(limits)
    }

    private func save(_ name: String, _ byteCount: Int) -> String {
        let text = String(repeating: "x", count: byteCount)
        return """
            {"operations":[{"operationType":"forceUpdate","record":{"recordName":"\(name)",\
            "recordType":"Note","fields":{"text":{"value":"\(text)"}}}}]}
            """
    }

    @Test func `Of limits that are set at once, those in force are those that are stored`()
        async throws
    {
        try await ServerUnderTest.run(.router) { server in
            let directory = server.server.directory
            let name = ContainerLimits.recordName(of: ContainerID.standard.identifier)
            for _ in 0..<20 {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for number in 1...16 {
                        group.addTask { try await set(server) { $0.bytes = number << 20 } }
                    }
                    try await group.waitForAll()
                }
                let stored = try await directory.registry.containers.fetch(
                    ContainerLimits.self,
                    name
                )
                #expect(directory.limits(of: .standard)?.bytes == stored.value.bytes)
            }
        }
    }

    @Test func `A container at its limit of open requests is throttled, others are not`()
        async throws
    {
        try await ServerUnderTest.run(.router) { server in
            let token = try await server.makeToken("other", for: Self.other)
            try await set(server) { $0.requests = 1 }
            #expect(try await server.send("public/zones/list").status == 200)
            try await server.server.gates.pass(.standard, requests: 1, scans: nil) {
                () async throws(WebError) in
                let late = try? await server.send("public/zones/list")
                #expect(late?.status == 429)
                #expect(late?.code == "THROTTLED")
                #expect(late?.json["retryAfter"] as? Int == 1)
                #expect(late?.header("Retry-After") == "1")
                let free = try? await sendToOther(server, "zones/list", token: token)
                #expect(free?.status == 200)
            }
            #expect(try await server.send("public/zones/list").status == 200)
            #expect(server.server.gates.counts(of: .standard) == (0, 0))
        }
    }

    @Test func `Calls of Tidemark's clients count in the limits of their container`() async throws {
        try await ServerUnderTest.run(.router) { server in
            let gates = server.server.gates
            try await set(server) { limits in
                limits.requests = 2
                limits.scans = 1
            }
            let (stream, release) = AsyncStream.makeStream(of: Void.self)
            async let holder: Void = gates.pass(.standard, requests: 9, scans: 1) {
                () async throws(WebError) in
                for await _ in stream {}
            }
            while gates.counts(of: .standard).scans == 0 { await Task.yield() }
            #expect(try await call(server, "zones").status == 200)
            async let late = call(server, "databaseChanges")
            while gates.counts(of: .standard).open < 2 { await Task.yield() }
            let refused = try await call(server, "zones")
            #expect(refused.status == 429)
            #expect(SyncError(wire: refused.body)?.code == .requestRateLimited)
            #expect(refused.header("Retry-After") == "1")
            release.finish()
            try await holder
            #expect(try await late.status != 429)
            #expect(gates.counts(of: .standard) == (0, 0))
        }
    }

    @Test func `Queries of one container wait for each other, and no others wait`() async throws {
        try await ServerUnderTest.run(.router) { server in
            let web = try await server.signIn("ann")
            let token = try await server.makeToken("other", for: Self.other)
            try await set(server) { $0.scans = 1 }
            let query = #"{"query":{"recordType":"Note"}}"#
            _ = try await server.send("private/records/modify", save("a", 1), web: web)
            let gates = server.server.gates
            let (stream, release) = AsyncStream.makeStream(of: Void.self)
            async let holder: Void = gates.pass(.standard, requests: 9, scans: 1) {
                () async throws(WebError) in
                for await _ in stream {}
            }
            while gates.counts(of: .standard).scans == 0 { await Task.yield() }
            async let late = server.send("private/records/query", query, web: web)
            while gates.counts(of: .standard).open < 2 { await Task.yield() }
            // Looking up by name is no scan, and another container has its own.
            let lookup = #"{"records":[{"recordName":"a"}]}"#
            #expect(
                try await server.send("private/records/lookup", lookup, web: web).status == 200
            )
            let elsewhere = try await sendToOther(server, "zones/changes", "{}", token: token)
            #expect(elsewhere.status != 429)
            #expect(gates.counts(of: .standard) == (2, 1))
            release.finish()
            try await holder
            #expect(try await late.list("records").count == 1)
            #expect(gates.counts(of: .standard) == (0, 0))
        }
    }

    @Test func `Scans are admitted in the order of their arrival`() async throws {
        let gates = ContainerGates()
        let order = Order()
        let (stream, release) = AsyncStream.makeStream(of: Void.self)
        async let holder: Void = gates.pass(.standard, requests: 99, scans: 1) {
            () async throws(WebError) in
            for await _ in stream {}
        }
        while gates.counts(of: .standard).scans == 0 { await Task.yield() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<5 {
                group.addTask {
                    try await gates.pass(.standard, requests: 99, scans: 1) {
                        () async throws(WebError) in
                        #expect(gates.counts(of: .standard).scans == 1)
                        await order.add(number)
                    }
                }
                while gates.counts(of: .standard).open < number + 2 { await Task.yield() }
            }
            release.finish()
            try await group.waitForAll()
        }
        try await holder
        #expect(await order.numbers == [0, 1, 2, 3, 4])
    }

    private actor Order {
        var numbers: [Int] = []

        func add(_ number: Int) { numbers.append(number) }
    }

    @Test func `Quotas of a container and its users can change while the server runs`()
        async throws
    {
        try await ServerUnderTest.run(.router) { server in
            let ann = try await server.signIn("ann")
            let ben = try await server.signIn("ben")
            func modify(_ web: String, _ name: String, _ byteCount: Int) async throws -> Answer {
                try await server.send("private/records/modify", save(name, byteCount), web: web)
            }
            try await set(server) { limits in
                limits.bytes = 20_000
                limits.privateBytes = 15_000
            }
            #expect(try await modify(ann, "a", 10_000).status == 200)
            let tooMuch = try await modify(ann, "b", 10_000)
            #expect(tooMuch.status == 413)
            #expect(tooMuch.code == "QUOTA_EXCEEDED")
            #expect(tooMuch.json["retryAfter"] == nil)
            // There is room in Ben's database, but not in the container.
            #expect(try await modify(ben, "b", 12_000).code == "QUOTA_EXCEEDED")
            #expect(try await modify(ben, "b", 5_000).status == 200)
            try await set(server) { $0.bytes = 50_000 }
            #expect(try await modify(ann, "b", 10_000).status == 200)

            // They are records of the server, and apply again after a start.
            let again = try await Directory(of: server.store, at: server.folder)
            let entries = try await again.containerEntries()
            #expect(entries.map(\.limits.container) == ["iCloud.tidemark"])
            #expect(entries.first?.limits.bytes == 50_000)
            #expect(entries.first?.tokenCount == 1)
            #expect(entries.first?.keyCount == 1)
            #expect(entries.first?.hasZones == true)
            #expect(try await modify(ann, "c", 40_000).code == "QUOTA_EXCEEDED")
        }
    }

    @Test func `A closed container rejects all requests and keeps its data`() async throws {
        try await ServerUnderTest.run(.router) { server in
            let directory = server.server.directory
            let web = try await server.signIn("ann")
            _ = try await server.send("private/records/modify", save("a", 1), web: web)
            #expect(try await server.sendSigned("public/zones/list").status == 200)
            try await directory.closeContainer("iCloud.tidemark")
            #expect(try await server.send("private/zones/list", web: web).status == 401)
            #expect(try await server.sendSigned("public/zones/list").status == 401)
            let entries = try await directory.containerEntries()
            #expect(entries.map(\.tokenCount) == [0])
            #expect(entries.first?.hasZones == true)
            let unknown = await #expect(throws: SyncError.self) {
                try await directory.closeContainer("iCloud.nothing")
            }
            #expect(unknown?.code == .unknownItem)
            var wrong = ContainerLimits(.standard)
            wrong.bytes = 0
            let refused = #expect(throws: SyncError.self) { try wrong.check() }
            #expect(refused?.code == .invalidArguments)
        }
    }
}
#endif

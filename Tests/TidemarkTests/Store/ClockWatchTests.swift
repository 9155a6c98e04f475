// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import Tidemark
import TidemarkLock
import TidemarkLog
import TidemarkModel

/// A machine's clock that is set while a store is open.
@Suite struct ClockWatchTests {
    /// A clock that can be set, beside one that cannot.
    private final class Machine: Sendable {
        private struct Clocks {
            var time: Int64 = 1_700_000_000_000
            var uptime: Int64 = 5_000
        }
        private let clocks = Lock(Clocks())

        var time: Int64 { clocks.withLock(\.time) }

        func pass(_ milliseconds: Int64) {
            clocks.withLock { clocks in
                clocks.time += milliseconds
                clocks.uptime += milliseconds
            }
        }

        func set(by milliseconds: Int64) { clocks.withLock { $0.time += milliseconds } }

        func open(
            _ path: String,
            _ options: StoreOptions = StoreOptions(),
            access: StoreAccess = .creating
        ) throws -> Client {
            var environment = StoreEnvironment()
            environment.log.now = { self.time }
            environment.log.uptime = { self.clocks.withLock(\.uptime) }
            return Client(
                store: try Store.open(
                    at: path,
                    access: access,
                    options: options,
                    environment: environment
                )
            )
        }
    }

    private static let hour: Int64 = 60 * 60 * 1000
    private static let year = 8766 * hour

    private let folder: ScratchFolder
    private let machine = Machine()

    init() throws {
        folder = try ScratchFolder()
    }

    private func save(_ name: String, by client: Client) async throws -> Record {
        try await client.put(name, [:], policy: .allKeys)
    }

    @Test(arguments: [26 * Self.year, -2 * Self.hour, Self.hour + 1])
    func `Nothing is written while the clock is wrong`(jump: Int64) async throws {
        let client = try machine.open(folder.path())
        try await client.createZone()
        _ = try await save("before", by: client)
        let last = client.store.lastSequence
        machine.set(by: jump)
        for _ in 1...2 {
            let error = await #expect(throws: SyncError.self) {
                _ = try await save("during", by: client)
            }
            #expect(error?.code == .serviceUnavailable)
            #expect(error?.message.contains("clock") == true)
        }
        await #expect(throws: SyncError.self) {
            _ = try await client.store.compact(CompactionPolicy())
        }
        #expect(client.store.lastSequence == last)
        #expect(try await client.fetch("before")[0].get().recordID.recordName == "before")
        machine.set(by: -jump)
        let record = try await save("after", by: client)
        #expect(record.modified.time == machine.time)
    }

    @Test func `Elapsed time and small corrections are not clock jumps`() async throws {
        let client = try machine.open(folder.path())
        try await client.createZone()
        for number in 1...5 {
            machine.pass(Self.year)
            machine.set(by: number.isMultiple(of: 2) ? -Self.hour : Self.hour)
            _ = try await save("r\(number)", by: client)
        }
    }

    @Test func `An option allows any jump`() async throws {
        var options = StoreOptions()
        options.clockJumpLimit = nil
        let client = try machine.open(folder.path(), options)
        try await client.createZone()
        machine.set(by: Self.year)
        #expect(try await save("r", by: client).modified.time == machine.time)
    }

    @Test func `Opening a store reports how far the log is ahead, and accepts the clock`()
        async throws
    {
        var client = try machine.open(folder.path())
        #expect(client.store.clockLag == .zero)
        try await client.createZone()
        try client.store.close()
        machine.set(by: Self.year)
        client = try machine.open(folder.path())
        #expect(client.store.clockLag == .zero)
        _ = try await save("ahead", by: client)
        try client.store.close()
        machine.set(by: -Self.year)
        client = try machine.open(folder.path())
        #expect(client.store.clockLag == .milliseconds(Self.year))
        // Times never go back.
        let record = try await save("r", by: client)
        #expect(record.modified.time == machine.time + Self.year)
        try client.store.close()
        client = try machine.open(folder.path(), access: .reading)
        #expect(client.store.clockLag == .milliseconds(Self.year))
    }
}

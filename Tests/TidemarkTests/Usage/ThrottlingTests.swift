// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Testing
import TidemarkModel

@testable import Tidemark

@Suite struct ThrottlingTests {
    private func scratch(_ set: (inout Throttling) -> Void) throws -> ScratchAssets {
        var options = StoreOptions()
        set(&options.throttling)
        return try ScratchAssets(options: options)
    }

    private func error(_ call: () async throws -> Void) async -> SyncError? {
        do {
            try await call()
            return nil
        } catch {
            return error as? SyncError
        }
    }

    @Test func `A device has a request rate, and can retry after the given time`() async throws {
        let scratch = try scratch { $0.requestsPerDevice = .init(4, per: .seconds(10)) }
        let anna = scratch.client()
        for _ in 0..<4 { _ = try await anna.fetch("a") }
        let refused = await error { _ = try await anna.fetch("a") }
        #expect(refused?.code == .requestRateLimited)
        #expect(refused?.retryAfter == .seconds(2.5))
        scratch.wait(2_499)
        #expect(await error { _ = try await anna.fetch("a") }?.code == .requestRateLimited)
        scratch.wait(1)
        #expect(await error { _ = try await anna.fetch("a") } == nil)
        // However long nobody asks, no more than all at once.
        scratch.wait(1_000_000)
        for _ in 0..<4 { _ = try await anna.fetch("a") }
        #expect(await error { _ = try await anna.fetch("a") }?.code == .requestRateLimited)
    }

    @Test func `Every kind of request counts, separately for each device and user`() async throws {
        let scratch = try scratch { $0.requestsPerDevice = .init(3, per: .seconds(60)) }
        let anna = scratch.client()
        _ = try await anna.changes()
        _ = try await anna.modify([try anna.save("a", ["n": 1])])
        _ = try await scratch.store.zones(as: anna.caller)
        #expect(await error { try await anna.createZone() }?.code == .requestRateLimited)
        var laptop = anna
        laptop.caller.device = "laptop"
        _ = try await laptop.fetch("a")
        _ = try await scratch.client("_bert").fetch("a")
        _ = try await scratch.client(nil, of: DatabaseID(scope: .public)).fetch("a")
    }

    @Test func `Devices without pending limits are forgotten`() {
        var counts = RequestCounts()
        let rate = Throttling.Rate(2, per: .seconds(1))
        func caller(_ number: Int) -> Caller { Caller(device: "d\(number)") }
        for number in 0..<30_000 {
            #expect(counts.take(caller(number), rate, at: Int64(number)) == nil)
        }
        // Those of the last second are still known.
        #expect(counts.take(caller(29_999), rate, at: 29_999) == nil)
        #expect(counts.take(caller(29_999), rate, at: 29_999) == 0.5)
        #expect(counts.take(caller(0), rate, at: 29_999) == nil)
        // A clock that is set back gives nothing.
        #expect(counts.take(caller(29_999), rate, at: 0) == 0.5)
    }

    @Test func `A zone with too many writes is busy, and others are not`() async throws {
        let scratch = try scratch {
            $0.writesPerZone = 1
            $0.retryAfter = .seconds(3)
        }
        let notes = scratch.client(zone: ZoneID(zoneName: "Notes"))
        let other = scratch.client(zone: ZoneID(zoneName: "Other"))
        for client in [notes, other] { try await client.createZone() }
        try await scratch.store.parts.writer().write(in: [notes.zone], as: notes.caller) {
            let busy = await error { try await notes.modify([try notes.save("a", ["n": 1])]) }
            #expect(busy?.code == .zoneBusy)
            #expect(busy?.retryAfter == .seconds(3))
            #expect(await error { try await notes.createZone() }?.code == .zoneBusy)
            #expect(await error { try await other.modify([try other.save("a", ["n": 1])]) } == nil)
            #expect(await error { _ = try await notes.fetch("a") } == nil)
        }
        #expect(await error { try await notes.modify([try notes.save("a", ["n": 1])]) } == nil)
    }

    @Test func `A store with too many writes is unavailable for more`() async throws {
        let scratch = try scratch { $0.writesPerStore = 2 }
        let notes = scratch.client()
        let writer = try scratch.store.parts.writer()
        try await writer.write(in: [], as: notes.caller) {
            #expect(await error { try await notes.modify([try notes.save("a", ["n": 1])]) } == nil)
            try? await writer.write(in: [], as: notes.caller) {
                let refused = await error {
                    try await notes.modify([try notes.save("b", ["n": 1])])
                }
                #expect(refused?.code == .serviceUnavailable)
                #expect(refused?.retryAfter == .seconds(1))
            }
        }
        // A write that failed is over too.
        for _ in 0..<3 { #expect(await error { try await notes.modify([], request: "") } != nil) }
        #expect(await error { try await notes.modify([try notes.save("b", ["n": 1])]) } == nil)
    }
}

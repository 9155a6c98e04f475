// Tidemark
// SPDX-License-Identifier: Apache-2.0

import SimulatedDisk
import Testing
import TidemarkLog
import TidemarkModel

@testable import Tidemark

/// The machine stops at every call of sending, saving and collecting assets.
@Suite struct AssetCrashTests {
    /// The records that were acknowledged, each with the bytes of its asset.
    private typealias Acknowledged = [String: [UInt8]]

    private func work(_ disk: SimulatedFileSystem, _ acknowledged: inout Acknowledged) async throws
    {
        let scratch = try ScratchAssets(disk)
        let anna = scratch.client()
        let open = scratch.client(of: DatabaseID(scope: .public))
        let garbage = try await anna.upload([9, 9])
        for (name, client) in [("a", anna), ("b", anna), ("public", open)] {
            let bytes = Array(name.utf8) + Array(repeating: 7, count: 700)
            let asset = try await client.upload(bytes)
            _ = try await client.attach(asset, to: name).get()
            acknowledged[name] = bytes
        }
        scratch.wait(2 * ScratchAssets.day)
        let young = try await anna.upload([8])
        let collected = try await scratch.store.collectAssets()
        #expect(collected.map(\.checksum) == [garbage.checksum])
        _ = try await anna.attach(young, to: "young").get()
        acknowledged["young"] = [8]
        // The same bytes again, over a file that is there.
        let again = try await anna.upload(acknowledged["a"] ?? [])
        _ = try await anna.attach(again, to: "again").get()
        acknowledged["again"] = acknowledged["a"]
        try scratch.store.close()
    }

    /// The disk of a machine that stops at a call, and what was acknowledged until then.
    private func stopped(atCall call: Int) async throws -> (SimulatedFileSystem, Acknowledged) {
        let disk = SimulatedFileSystem(keepsTrace: false)
        disk.stop(atCall: call)
        var acknowledged: Acknowledged = [:]
        do {
            try await work(disk, &acknowledged)
        } catch is SyncError {
        } catch is LogError {
        }
        return (disk, acknowledged)
    }

    private func check(_ disk: SimulatedFileSystem, _ acknowledged: Acknowledged) async throws {
        let scratch = try ScratchAssets(disk)
        let anna = scratch.client()
        let open = scratch.client(of: DatabaseID(scope: .public))
        for (name, bytes) in acknowledged {
            let client = name == "public" ? open : anna
            #expect(try await client.download(name) == bytes)
        }
        // What was not acknowledged may be there, and is whole if it is.
        for name in ["a", "b", "young", "again"] {
            guard case .success = try await anna.fetch(name)[0] else { continue }
            #expect(try await !anna.download(name).isEmpty)
        }
        scratch.wait(4 * ScratchAssets.day)
        _ = try await scratch.store.collectAssets()
        for (name, bytes) in acknowledged {
            let client = name == "public" ? open : anna
            #expect(try await client.download(name) == bytes)
        }
        let asset = try await anna.upload([1, 2, 3])
        #expect(try await anna.attach(asset, to: "next").error == nil)
        #expect(try disk.list("s/assets/incoming") == [])
    }

    @Test func `An acknowledged save has its asset after a crash at any call`() async throws {
        let whole = SimulatedFileSystem(keepsTrace: false)
        var acknowledged: Acknowledged = [:]
        try await work(whole, &acknowledged)
        #expect(acknowledged.count == 5)
        #expect(whole.callCount > 80)
        for call in 1...whole.callCount {
            let (disk, acknowledged) = try await stopped(atCall: call)
            for outcome in CrashOutcome.all(afterStopAt: call) {
                try await check(disk.crash(outcome), acknowledged)
            }
        }
    }

    @Test func `A crash after a killed process removes no asset of a save`() async throws {
        let whole = SimulatedFileSystem(keepsTrace: false)
        var ignored: Acknowledged = [:]
        try await work(whole, &ignored)
        for call in 1...whole.callCount {
            let (disk, saved) = try await stopped(atCall: call)
            var acknowledged = saved
            let second = disk.crash(.processKilled)
            let scratch = try ScratchAssets(second)
            let anna = scratch.client()
            // Whatever the database holds now may be named without being sent again.
            for asset in try scratch.store.assets() {
                let reference = AssetReference(checksum: asset.checksum, byteCount: asset.byteCount)
                let name = "held-\(asset.blob.blob)"
                guard try await anna.attach(reference, to: name).error == nil else { continue }
                acknowledged[name] = try await anna.download(name)
            }
            for outcome in [CrashOutcome.losingEverythingUnsynced, .seeded(UInt64(call))] {
                try await check(second.crash(outcome), acknowledged)
            }
        }
    }
}

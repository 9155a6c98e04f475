// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Testing
import TidemarkLock
import TidemarkLog
import TidemarkModel

@testable import Tidemark

@Suite struct AssetCollectionTests {
    @Test func `Unreferenced assets are removed after a day`() async throws {
        let scratch = try ScratchAssets()
        let anna = scratch.client()
        let named = try await anna.upload([1])
        let unnamed = try await anna.upload([2, 2])
        _ = try await anna.attach(named, to: "a").get()
        scratch.wait(ScratchAssets.day)
        #expect(try await scratch.store.collectAssets().isEmpty, "it is not older than a day")
        scratch.wait(1)
        #expect(try await scratch.store.collectAssets(isDryRun: true).map(\.byteCount) == [2])
        #expect(try scratch.store.assets().count == 2)
        let collected = try await scratch.store.collectAssets()
        #expect(collected.map(\.checksum) == [unnamed.checksum])
        #expect(collected[0].path == (try scratch.path(of: unnamed)))
        #expect(try scratch.store.assets().map(\.checksum) == [named.checksum])
        #expect(try scratch.disk.list("s/assets/incoming") == [])
        #expect(try await anna.attach(unnamed, to: "b").error?.code == .assetFileNotFound)
        #expect(try await anna.download("a") == [1])
    }

    @Test func `Assets of earlier versions are kept`() async throws {
        let scratch = try ScratchAssets()
        let zone = ZoneID(zoneName: "Photos")
        let anna = scratch.client(zone: zone)
        try await anna.createZone()
        for number: UInt8 in 0..<4 {
            let asset = try await anna.upload([number])
            _ = try await anna.attach(asset, to: "a\(number / 2)").get()
        }
        try await anna.modify([], delete: [RecordDeletion(anna.id("a0"))])
        let request = ModifyZonesRequest(deletions: [zone])
        _ = try await scratch.store.modifyZones(request, as: anna.caller)
        scratch.wait(2 * ScratchAssets.day)
        #expect(try await scratch.store.collectAssets().isEmpty)
        #expect(try scratch.store.assets().count == 4)
    }

    /// A backup that began before a compaction copies segments whose events name other assets.
    @Test func `Nothing is collected while another reads the log`() async throws {
        let scratch = try ScratchAssets()
        let anna = scratch.client()
        for byte: UInt8 in [1, 2] {
            let asset = try await anna.upload([byte])
            _ = try await anna.attach(asset, to: "a").get()
        }
        scratch.wait(2 * ScratchAssets.day)
        let reader = try scratch.reading()
        var policy = CompactionPolicy()
        policy.history = .none
        #expect(try await scratch.store.compact(policy).assetByteCount == 0)
        let error = await #expect(throws: SyncError.self) {
            try await scratch.store.collectAssets()
        }
        #expect(error?.code == .zoneBusy)
        #expect(try await scratch.store.collectAssets(isDryRun: true).count == 1)
        #expect(try scratch.store.assets().count == 2)
        try reader.close()
        #expect(try await scratch.store.collectAssets().count == 1)
        #expect(try await anna.download("a") == [2])
    }

    @Test func `Uploading an asset again keeps it for another day`() async throws {
        let scratch = try ScratchAssets()
        let anna = scratch.client()
        _ = try await anna.upload([1])
        scratch.wait(2 * ScratchAssets.day)
        let asset = try await anna.upload([1])
        #expect(try await scratch.store.collectAssets().isEmpty)
        _ = try await anna.attach(asset, to: "a").get()
        scratch.wait(2 * ScratchAssets.day)
        #expect(try await scratch.store.collectAssets().isEmpty)
    }

    @Test func `Each database is collected separately`() async throws {
        let scratch = try ScratchAssets()
        let anna = scratch.client()
        let open = scratch.client(of: DatabaseID(scope: .public))
        let asset = try await anna.upload([1])
        #expect(try await open.upload([1]) == asset)
        _ = try await open.attach(asset, to: "a").get()
        scratch.wait(2 * ScratchAssets.day)
        #expect(try await scratch.store.collectAssets().count == 1)
        #expect(try scratch.store.assets().isEmpty)
        #expect(try await open.download("a") == [1])
    }

    @Test func `A collection on a failing disk is completed later`() async throws {
        let calls = try ScratchAssets()
        _ = try await calls.client().upload([1])
        calls.wait(2 * ScratchAssets.day)
        let before = calls.disk.callCount
        _ = try await calls.store.collectAssets()
        for number in 1...calls.disk.callCount - before {
            let scratch = try ScratchAssets()
            let asset = try await scratch.client().upload([1])
            scratch.wait(2 * ScratchAssets.day)
            scratch.disk.failCall(scratch.disk.callCount + number, with: 5)
            _ = try? await scratch.store.collectAssets()
            scratch.disk.clearFaults()
            _ = try await scratch.store.collectAssets()
            #expect(try scratch.store.assets().isEmpty)
            #expect(try await scratch.client().upload([1]) == asset)
            #expect(try await scratch.client().attach(asset, to: "a").error == nil)
        }
    }

    @Test func `A commit that a collection overtakes is decided again`() async throws {
        let scratch = try ScratchAssets()
        let anna = scratch.client()
        let asset = try await anna.upload([1])
        let stored = try scratch.store.assets()
        let upkeep = try scratch.store.parts.upkeep
        // The save has found the bytes, and is about to be committed.
        scratch.files.afterNextStatus { _ in
            let taken = try? upkeep.take(stored, writtenBefore: .max)
            #expect(taken == stored)
        }
        #expect(try await anna.attach(asset, to: "a").error?.code == .assetFileNotFound)
        #expect(try await anna.fetch("a")[0].error?.code == .unknownItem)
        #expect(try await anna.upload([1]) == asset)
        #expect(try await anna.attach(asset, to: "a").error == nil)
    }

    @Test func `Assets referenced while a collection reads the log are kept`() async throws {
        let scratch = try ScratchAssets()
        let anna = scratch.client()
        let asset = try await anna.upload([1])
        let stored = try scratch.store.assets()
        let upkeep = try scratch.store.parts.upkeep
        upkeep.reader.views.overlay.withLock { $0.assets.beginCollection() }
        _ = try await anna.attach(asset, to: "a").get()
        #expect(try upkeep.take(stored, writtenBefore: .max) == [])
        upkeep.reader.views.overlay.withLock { $0.assets.endCollection() }
        #expect(try await anna.download("a") == [1])
    }

    private final class End: Sendable {
        let isReached = Lock(false)
    }

    /// Every blob that no event names is old at once, so that only what commits and collections know
    /// of each other keeps them apart.
    @Test func `No collection removes an asset that a commit references`() async throws {
        let scratch = try ScratchAssets(isInline: false)
        scratch.disk.setClock(0)
        let anna = scratch.client()
        let end = End()
        let names = try await withThrowingTaskGroup(of: [String].self) { group in
            for writer in 0..<3 {
                group.addTask {
                    var names: [String] = []
                    for number in 0..<60 {
                        let asset = try await anna.upload([UInt8(writer), UInt8(number)])
                        let name = "\(writer)-\(number)"
                        switch try await anna.attach(asset, to: name) {
                        case .success: names.append(name)
                        case .failure(let error): #expect(error.code == .assetFileNotFound)
                        }
                    }
                    return names
                }
            }
            group.addTask {
                while !end.isReached.withLock({ $0 }) {
                    _ = try await scratch.store.collectAssets()
                    await Task.yield()
                }
                return []
            }
            var names: [String] = []
            for _ in 0..<3 { names += try await group.next() ?? [] }
            end.isReached.withLock { $0 = true }
            try await group.waitForAll()
            return names
        }
        #expect(!names.isEmpty)
        _ = try await scratch.store.collectAssets()
        for name in names { #expect(try await anna.download(name).count == 2) }
        #expect(try scratch.store.assets().count == names.count)
        try scratch.store.close()
    }
}

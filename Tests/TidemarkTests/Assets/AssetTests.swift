// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Testing
import TidemarkLog
import TidemarkModel

@testable import Tidemark

@Suite struct AssetTests {
    private let photo = (0..<600_000).map { UInt8(truncatingIfNeeded: $0 * 31 >> 3) }

    @Test func `Uploaded bytes are downloaded in full or in ranges`() async throws {
        let anna = try ScratchAssets().client()
        let asset = try await anna.upload(photo)
        #expect(asset.byteCount == 600_000)
        let saved = try await anna.attach(asset, to: "a").get()
        #expect(saved["file"] == .asset(asset))
        #expect(try await anna.download("a") == photo)
        for range: Range<UInt64> in [0..<1, 599_999..<600_000, 5..<500_000, 0..<600_000, 7..<7] {
            let part = try await anna.download("a", range: range)
            #expect(part == Array(photo[Int(range.lowerBound)..<Int(range.upperBound)]))
        }
        #expect(try await anna.download("a", range: 599_990..<700_000).count == 10)
        #expect(try await anna.download("a", range: 700_000..<700_001) == [])
        let download = try await anna.store.downloadAsset(
            DownloadAssetRequest(anna.id("a"), field: "file", range: 100..<200),
            as: anna.caller
        )
        #expect(download.byteCount == 600_000)
        #expect(download.range == 100..<200)
    }

    @Test func `An empty asset is valid`() async throws {
        let anna = try ScratchAssets().client()
        let asset = try await anna.upload([])
        #expect(asset.byteCount == 0)
        _ = try await anna.attach(asset, to: "a").get()
        #expect(try await anna.download("a") == [])
    }

    @Test func `A list of assets is downloaded one by one`() async throws {
        let anna = try ScratchAssets().client()
        let assets = [try await anna.upload([1]), try await anna.upload([2, 2])]
        let save = try anna.save("a", ["files": .assetList(assets), "n": 1])
        _ = try await anna.modify([save]).saves[0].get()
        #expect(try await anna.download("a", field: "files", element: 1) == [2, 2])
        #expect(
            await refusal { try await anna.download("a", field: "files", element: 2) }
                == .unknownItem
        )
        #expect(await refusal { try await anna.download("a", field: "n") } == .unknownItem)
        #expect(await refusal { try await anna.download("a", field: "none") } == .unknownItem)
        #expect(await refusal { try await anna.download("b") } == .unknownItem)
    }

    @Test func `A save that references a missing asset is rejected`() async throws {
        let scratch = try ScratchAssets()
        let zone = ZoneID(zoneName: "Photos")
        let anna = scratch.client(zone: zone)
        try await anna.createZone()
        let missing = AssetReference(checksum: Array(repeating: 7, count: 32), byteCount: 1)
        let result = try await anna.modify([
            try anna.save("a", ["n": 1]), try anna.save("b", ["files": .assetList([missing])]),
        ])
        #expect(result.saves[0].error?.code == .batchRequestFailed)
        #expect(
            result.saves[1].error?.message == """
                The record b in zone Photos names the asset \(String(repeating: "07", count: 32)), \
                whose bytes are not in its database; upload them there, then save.
                """
        )
        #expect(result.saves[1].error?.code == .assetFileNotFound)
        #expect(result.saves[1].error?.code.isRetryable == false)
        // The schema has not grown for it either.
        #expect(try scratch.store.schema()["Note"] == nil)
        var asset = try await anna.upload([1, 2, 3])
        asset.byteCount = 4
        #expect(try await anna.attach(asset, to: "a").error?.code == .invalidArguments)
        asset.byteCount = 3
        #expect(try await anna.attach(asset, to: "a").error == nil)
        // That the record names it already makes it no shorter.
        asset.byteCount = 0
        #expect(try await anna.attach(asset, to: "a").error != nil)
    }

    @Test func `A checksum grants no access in another database`() async throws {
        let scratch = try ScratchAssets()
        let anna = scratch.client()
        let asset = try await anna.upload(photo)
        let others = [
            scratch.client(of: DatabaseID(scope: .public)),
            scratch.client(of: DatabaseID(environment: .production)),
            scratch.client("_bert", of: DatabaseID(owner: UserID("_bert"))),
        ]
        for other in others {
            #expect(
                try await other.store.heldAssets(HeldAssetsRequest([asset]), as: other.caller)
                    == [false]
            )
        }
        #expect(try await others[2].attach(asset, to: "a").error?.code == .assetFileNotFound)
        #expect(try await others[2].upload(photo) == asset)
        #expect(try await others[2].attach(asset, to: "a").error == nil)
        #expect(try scratch.store.assets().map(\.byteCount) == [600_000])
        #expect(try scratch.store.assets(of: others[2].caller.database).count == 1)
    }

    @Test func `A checksum grants no access to assets of other writers`() async throws {
        let scratch = try ScratchAssets()
        let open = DatabaseID(scope: .public)
        let anna = scratch.client(of: open)
        let bert = scratch.client("_bert", of: open)
        let asset = try await anna.upload(photo)
        _ = try await anna.attach(asset, to: "a").get()
        let request = HeldAssetsRequest([asset])
        #expect(try await scratch.store.heldAssets(request, as: anna.caller) == [true])
        #expect(try await scratch.store.heldAssets(request, as: bert.caller) == [false])
        #expect(try await bert.attach(asset, to: "b").error?.code == .assetFileNotFound)
        // Whoever was given the bytes may name them.
        #expect(try await bert.download("a") == photo)
        #expect(try await bert.attach(asset, to: "b").error == nil)
        let carl = scratch.client("_carl", of: open)
        #expect(try await carl.upload(photo) == asset)
        #expect(try await carl.attach(asset, to: "c").error == nil)
        #expect(try scratch.store.assets(of: open).count == 1)
    }

    @Test func `Participants of a share upload and download assets of its records`() async throws {
        let world = try await SharingWorld()
        let anna = world.anna
        let secret = try await anna.upload([1])
        let shown = try await anna.upload([2])
        try await anna.modify([
            try anna.node("root", ["file": .asset(secret)]), try anna.node("leaf", under: "root"),
            try anna.node("other", ["file": .asset(secret)]),
        ])
        let before = try await anna.fetch("root")[0].get().changeTag
        try await anna.modify([try anna.node("root", ["file": .asset(shown)])])
        try await anna.modify([
            try anna.share("s", of: "root", with: [("bob", .readWrite), ("carol", .readOnly)])
        ])
        let link = world.store.url(of: try await anna.shared("s"))
        let guests = [world.guest("bob"), world.guest("carol")]
        for guest in guests {
            _ = try await world.store.acceptShare(link, as: guest.caller)
            #expect(try await guest.download("root") == [2])
            #expect(await refusal { try await guest.download("other") } == .unknownItem)
            #expect(await refusal { try await guest.download("root", tag: before) } == .unknownItem)
        }
        let bob = guests[0]
        func set(_ asset: AssetReference) async throws -> SyncError.Code? {
            let save = try bob.node("leaf", ["file": .asset(asset)])
            return try await bob.modify([save]).saves[0].error?.code
        }
        #expect(try await set(secret) == .assetFileNotFound)
        #expect(try await set(shown) == nil)
        #expect(try await set(try await bob.upload([3])) == nil)
        #expect(try await anna.download("leaf") == [3])
        #expect(await refusal { try await guests[1].upload([4]) } == .permissionFailure)
        #expect(try world.store.assets(of: anna.caller.database).count == 3)
        try world.store.close()
    }

    @Test func `Assets that a database has need not be uploaded again`() async throws {
        let scratch = try ScratchAssets()
        let anna = scratch.client()
        let asset = try await anna.upload(photo)
        var other = asset
        other.byteCount += 1
        let missing = AssetReference(checksum: Array(repeating: 7, count: 32), byteCount: 1)
        let odd = AssetReference(checksum: [1], byteCount: 1)
        let request = HeldAssetsRequest([asset, missing, other, odd])
        #expect(
            try await scratch.store.heldAssets(request, as: anna.caller)
                == [true, false, false, false]
        )
        for name in ["a", "b"] { _ = try await anna.attach(asset, to: name).get() }
        #expect(try await anna.download("b") == photo)
        #expect(try scratch.store.assets().count == 1)
    }

    @Test func `A record keeps an asset whose bytes are lost`() async throws {
        let scratch = try ScratchAssets()
        let anna = scratch.client()
        let asset = try await anna.upload(photo)
        _ = try await anna.attach(asset, to: "a").get()
        try scratch.disk.remove(try scratch.path(of: asset))
        #expect(await refusal { try await anna.download("a") } == .assetNotAvailable)
        #expect(try await anna.attach(asset, to: "a").error == nil)
        #expect(try await anna.attach(asset, to: "b").error?.code == .assetFileNotFound)
        _ = try await anna.upload(photo)
        #expect(try await anna.download("a") == photo)
    }

    @Test func `An asset has its own size limit and does not count to the record's`() async throws {
        var options = StoreOptions()
        options.limits.bytesPerAsset = 1_000
        options.limits.bytesPerRecord = 500
        options.limits.bytesPerRequest = 500
        let scratch = try ScratchAssets(options: options)
        let anna = scratch.client()
        #expect(Limits().bytesPerAsset == 50_000_000)
        let asset = try await anna.upload(Array(photo.prefix(1_000)))
        #expect(try await anna.attach(asset, to: "a").error == nil)
        #expect(
            await refusal { try await anna.upload(Array(photo.prefix(1_001))) }
                == .limitExceeded
        )
        let large = AssetReference(checksum: Array(repeating: 7, count: 32), byteCount: 1_001)
        #expect(
            await refusal {
                _ = try await scratch.store.uploadAsset(
                    [1],
                    UploadAssetRequest(announced: large),
                    as: anna.caller
                )
            } == .limitExceeded
        )
        #expect(try scratch.disk.list("s/assets/incoming") == [])
    }

    @Test func `Bytes that differ from the announced asset are rejected`() async throws {
        let scratch = try ScratchAssets()
        let anna = scratch.client()
        let asset = try await anna.upload([1, 2, 3])
        func send(_ bytes: [UInt8], as announced: AssetReference) async -> SyncError.Code? {
            await refusal {
                let request = UploadAssetRequest(announced: announced)
                _ = try await scratch.store.uploadAsset(bytes, request, as: anna.caller)
            }
        }
        #expect(await send([1, 2, 3], as: asset) == nil)
        #expect(await send([1, 2, 4], as: asset) == .assetFileModified)
        #expect(await send([1, 2, 3, 4], as: asset) == .assetFileModified)
        #expect(await send([1, 2], as: asset) == .assetFileModified)
        #expect(await send([], as: asset) == .assetFileModified)
        #expect(
            await send([1], as: AssetReference(checksum: [1], byteCount: 1)) == .invalidArguments
        )
        #expect(try scratch.store.assets().count == 1)
        #expect(try scratch.disk.list("s/assets/incoming") == [])
    }

    @Test func `An interrupted upload leaves nothing`() async throws {
        let scratch = try ScratchAssets()
        let anna = scratch.client()
        struct Broken: Error {}
        let causes: [(any Error, SyncError.Code)] = [
            (Broken(), .networkFailure), (CancellationError(), .operationCancelled),
            (SyncError(.quotaExceeded, "full"), .quotaExceeded),
        ]
        for (cause, expected) in causes {
            let (pieces, end) = AsyncThrowingStream.makeStream(of: [UInt8].self)
            end.yield([1, 2, 3])
            end.finish(throwing: cause)
            let found = await refusal {
                _ = try await scratch.store.uploadAsset(
                    pieces,
                    UploadAssetRequest(),
                    as: anna.caller
                )
            }
            #expect(found == expected)
        }
        #expect(try scratch.store.assets().isEmpty)
        #expect(try scratch.disk.list("s/assets/incoming") == [])
    }

    @Test func `Uploads require permission to save, downloads permission to read`() async throws {
        let scratch = try ScratchAssets()
        let text = """
            DEFINE SCHEMA RECORD TYPE Note (file ASSET, GRANT CREATE TO "_icloud",
            GRANT READ, WRITE TO "_creator");
            """
        try await scratch.store.importSchema(try SchemaFile(text).schema)
        let open = DatabaseID(scope: .public)
        let anna = scratch.client(of: open)
        let asset = try await anna.upload(photo)
        _ = try await anna.attach(asset, to: "a").get()
        #expect(try await anna.download("a") == photo)
        let bert = scratch.client("_bert", of: open)
        #expect(await refusal { try await bert.download("a") } == .permissionFailure)
        let nobody = scratch.client(nil, of: open)
        #expect(await refusal { try await nobody.download("a") } == .notAuthenticated)
        #expect(await refusal { try await nobody.upload([1]) } == .notAuthenticated)
        let foreign = scratch.client("_bert", of: DatabaseID(owner: UserID("_anna")))
        #expect(await refusal { try await foreign.upload([1]) } == .permissionFailure)
        let lost = scratch.client(zone: ZoneID(zoneName: "none"))
        #expect(await refusal { try await lost.upload([1]) } == .zoneNotFound)
    }

    @Test func `A client with an earlier version gets the asset of that version`() async throws {
        let anna = try ScratchAssets().client()
        let first = try await anna.attach(try await anna.upload([1]), to: "a").get()
        let second = try await anna.attach(try await anna.upload([2]), to: "a").get()
        #expect(try await anna.download("a") == [2])
        #expect(try await anna.download("a", tag: second.changeTag) == [2])
        #expect(try await anna.download("a", tag: first.changeTag) == [1])
        let other = try await anna.attach(try await anna.upload([3]), to: "b").get()
        #expect(
            await refusal { try await anna.download("a", tag: other.changeTag) }
                == .unknownItem
        )
        let odd = RecordChangeTag("?")
        #expect(await refusal { try await anna.download("a", tag: odd) } == .invalidArguments)
        try await anna.modify([], delete: [RecordDeletion(anna.id("a"))])
        #expect(
            await refusal { try await anna.download("a", tag: first.changeTag) }
                == .unknownItem
        )
    }

    @Test func `Damage affects one asset, and uploading it again repairs it`() async throws {
        let scratch = try ScratchAssets()
        let anna = scratch.client()
        let asset = try await anna.upload(photo)
        let sound = try await anna.upload([1])
        _ = try await anna.attach(asset, to: "a").get()
        _ = try await anna.attach(sound, to: "b").get()
        let path = try scratch.path(of: asset)
        let changes: [() throws -> Void] = [
            { try scratch.disk.flipBit(path, at: 300_000, bit: 3) },
            { try scratch.disk.setContents(of: path, to: Array(photo.dropLast())) },
            { try scratch.disk.setContents(of: path, to: photo + [0]) },
            { try scratch.disk.setContents(of: path, to: []) },
            { try scratch.disk.remove(path) },
        ]
        for change in changes {
            try change()
            #expect(await refusal { try await anna.download("a") } == .assetNotAvailable)
            #expect(
                await refusal { try await anna.download("a", range: 0..<5) }
                    == .assetNotAvailable
            )
            #expect(try await anna.download("b") == [1])
            #expect(try await anna.fetch("a")[0].get()["file"] == .asset(asset))
            #expect(try await anna.upload(photo) == asset)
            #expect(try await anna.download("a") == photo)
            #expect(try await anna.download("a", range: 0..<5) == Array(photo.prefix(5)))
        }
    }

    @Test func `An import may reference assets that arrive later, or never`() async throws {
        let scratch = try ScratchAssets()
        let other = try ScratchAssets()
        let anna = scratch.client()
        let asset = try await anna.upload(photo)
        _ = try await anna.attach(asset, to: "a").get()
        let lines = try scratch.store.commits()
        try await other.store.importLines(lines)
        let copy = other.client()
        #expect(try await copy.fetch("a")[0].get()["file"] == .asset(asset))
        #expect(await refusal { try await copy.download("a") } == .assetNotAvailable)
        let (pieces, end) = AsyncStream.makeStream(of: [UInt8].self)
        end.yield(photo)
        end.finish()
        #expect(try await other.store.storeAsset(pieces, announced: asset) == asset)
        #expect(try await copy.download("a") == photo)
    }

    @Test func `Concurrent uploads of equal bytes succeed`() async throws {
        let scratch = try ScratchAssets(isInline: false)
        let anna = scratch.client()
        try await withThrowingTaskGroup { group in
            for number in 0..<8 {
                group.addTask {
                    let asset = try await anna.upload(photo)
                    _ = try await anna.attach(asset, to: "a\(number)").get()
                }
            }
            try await group.waitForAll()
        }
        for number in 0..<8 { #expect(try await anna.download("a\(number)") == photo) }
        #expect(try scratch.store.assets().count == 1)
        #expect(try scratch.disk.list("s/assets/incoming") == [])
        try scratch.store.close()
    }

    @Test func `A store without assets has no folder for them`() async throws {
        let scratch = try ScratchAssets()
        let anna = scratch.client()
        try await anna.put("a", ["n": 1])
        #expect(try scratch.store.assets().isEmpty)
        #expect(try await scratch.store.collectAssets().isEmpty)
        #expect(try !scratch.disk.exists("s/assets"))
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TidemarkEvents
import TidemarkLog
import TidemarkModel

@testable import Tidemark

/// Files of assets that have holes: those that were extended are damaged, and are not read to their end.
@Suite struct ExtendedBlobTests {
    private static let terabyte: UInt64 = 1 << 40

    private let folder: ScratchFolder

    init() throws {
        folder = try ScratchFolder()
    }

    private func path(of blob: HeldBlob) -> String {
        BlobStore(StoreFolder(folder.path()), PosixFileSystem()).path(of: blob)
    }

    /// Makes a store with an asset of so many zeros, named by the record `a` or by none.
    private func makeStore(zeroCount: Int, isNamed: Bool) async throws -> HeldBlob {
        let client = Client(store: try Store.open(at: folder.path(), access: .creating))
        try await client.createZone()
        let asset = try await client.upload([UInt8](repeating: 0, count: zeroCount))
        if isNamed { _ = try await client.attach(asset, to: "a").get() }
        try client.store.close()
        return HeldBlob(try asset.blob, of: BlobHolder(client.caller.database))
    }

    /// Makes a file one hole of a length.
    private func hollow(_ path: String, to byteCount: UInt64) throws {
        let file = try PosixFileSystem().open(path, .readWrite)
        try file.truncate(to: 0)
        try file.truncate(to: byteCount)
    }

    @Test(arguments: [true, false]) func `Copies of a store omit an extended asset`(
        isNamed: Bool
    ) async throws {
        let blob = try await makeStore(zeroCount: 100_000, isNamed: isNamed)
        let path = path(of: blob)
        let sound = folder.path("sound.tide")
        #expect(try Store.backUp(at: folder.path(), to: sound).damage == [])
        try hollow(path, to: Self.terabyte)
        let backup = try Store.backUp(at: folder.path(), to: folder.path("backup.tide"))
        #expect(backup.damage.map(\.path) == [path])
        #expect(backup.damage.map(\.code) == [.corrupted])
        let salvaged = try Store.salvage(from: folder.path(), to: folder.path("salvaged.tide"))
        #expect(salvaged.damage.map(\.path) == [path])
        let name = "\(sound)/assets/\(blob)"
        try hollow(name, to: Self.terabyte)
        let restored = try Store.restore(from: sound, to: folder.path("restored.tide"))
        #expect(restored.damage.map(\.path) == [name])
    }

    @Test func `A download of an extended asset fails immediately`() async throws {
        let path = path(of: try await makeStore(zeroCount: 100_000, isNamed: true))
        try hollow(path, to: Self.terabyte)
        let store = try Store.open(at: folder.path())
        let client = Client(store: store)
        for range in [nil, 0..<5] as [Range<UInt64>?] {
            #expect(
                await refusal { try await client.download("a", range: range) } == .assetNotAvailable
            )
        }
        try store.close()
    }

    @Test(arguments: [true, false]) func `An asset whose zeros are a hole is intact`(
        isNamed: Bool
    ) async throws {
        let path = path(of: try await makeStore(zeroCount: 100_000, isNamed: isNamed))
        try hollow(path, to: 100_000)
        let backup = try Store.backUp(at: folder.path(), to: folder.path("backup.tide"))
        #expect(backup.damage == [])
        #expect(backup.copiedAssetCount == 1)
        guard isNamed else { return }
        let store = try Store.open(at: folder.path())
        let bytes = try await Client(store: store).download("a")
        #expect(bytes == [UInt8](repeating: 0, count: 100_000))
        try store.close()
    }
}

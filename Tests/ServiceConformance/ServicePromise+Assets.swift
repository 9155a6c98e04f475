// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Testing
import Tidemark
import TidemarkModel

extension ServicePromise {
    func assets(_ hosted: some ServiceHosting) async throws {
        let anna = try await hosted.device("anna")
        try await anna.createZone()
        // Doubled, because a loop over three million bytes takes long in a debug build.
        var bytes = (0..<256).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        while bytes.count < 3_000_000 { bytes += bytes }
        bytes.removeLast(bytes.count - 3_000_000)
        let upload = UploadAssetRequest(zone: anna.zone)
        let asset = try await anna.service.uploadAsset(bytes, upload, as: anna.caller)
        var other = asset
        other.checksum[0] ^= 1
        let held = HeldAssetsRequest([asset, other], zone: anna.zone)
        #expect(try await anna.service.heldAssets(held, as: anna.caller) == [true, false])
        let first = try await anna.save("a", ["file": .asset(asset)])
        let small = try await anna.service.uploadAsset([1, 2, 3], upload, as: anna.caller)
        try await anna.save("a", ["file": .asset(small)], tag: first.changeTag)

        func download(_ request: DownloadAssetRequest) async throws -> AssetDownload {
            try await anna.service.downloadAsset(request, as: anna.caller)
        }
        let latest = try await download(DownloadAssetRequest(anna.id("a"), field: "file"))
        #expect(try await latest.bytes() == [1, 2, 3])
        #expect(latest.byteCount == 3)
        var earlier = DownloadAssetRequest(anna.id("a"), field: "file", changeTag: first.changeTag)
        let whole = try await download(earlier)
        #expect(whole.changeTag == first.changeTag)
        #expect(try await whole.bytes() == bytes)
        earlier.range = 1_000_000..<2_500_000
        let part = try await download(earlier)
        #expect(part.byteCount == 3_000_000)
        #expect(try await part.bytes() == Array(bytes[1_000_000..<2_500_000]))
        await #expect(throws: SyncError.self) {
            try await download(DownloadAssetRequest(anna.id("a"), field: "none"))
        }
    }
}

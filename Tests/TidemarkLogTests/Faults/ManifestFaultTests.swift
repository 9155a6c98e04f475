// Tidemark
// SPDX-License-Identifier: Apache-2.0

import SimulatedDisk
import Testing

@testable import TidemarkLog

@Suite struct ManifestFaultTests {
    @Test func `A manifest whose sync failed is not written again`() throws {
        let disk = SimulatedFileSystem()
        let (log, _) = try CrashWorkload.open(disk, seed: 1)
        let manifest = log.manifest
        let id = try #require(manifest.manifest.active?.id)
        let edits = [
            ManifestEdit.ended(id, last: 5, framesEnd: 4096),
            ManifestEdit.sealed(id, fileByteCount: 8192),
        ]
        disk.failCall(disk.callCount(of: .sync) + 1, of: .sync, with: 5)
        let failure = #expect(throws: LogError.self) { try manifest.append(edits) }
        // The disk works again. A shorter edit in the place of the two would leave a part of them.
        let again = #expect(throws: LogError.self) { try manifest.append([edits[0]]) }
        #expect(again == failure)
        #expect(throws: LogError.self) { try manifest.append(edits) }
        #expect(manifest.manifest.active?.id == id)
    }
}

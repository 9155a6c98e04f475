// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import Tidemark
import TidemarkLog

/// Pages of the views' file that hold nothing.
@Suite struct FreePageTests {
    @Test func `Closing a store gives back the free pages of its views`() async throws {
        let folder = try ScratchFolder()
        var options = StoreOptions()
        options.durability = .none
        // Each checkpoint changes pages all over the index, and the old ones become free.
        options.checkpointEventCount = 1_000
        let client = Client(
            store: try Store.open(at: folder.path(), access: .creating, options: options)
        )
        try await client.createZone()
        for start in stride(from: 0, to: 100_000, by: 400) {
            let saves = try (start..<start + 400).map { try client.save("r\($0)", ["n": 1]) }
            try await client.modify(saves)
        }
        let before = try client.store.figures()
        // How many there are depends on which commits a checkpoint takes together. A closed store may
        // keep 1 MiB of them.
        #expect(before.viewSpareByteCount > 1 << 20)
        try client.store.close()
        #expect(try LogReader(folder.path(), fileSystem: PosixFileSystem()).verify().damage == [])
        let again = Client(store: try Store.open(at: folder.path(), options: options))
        let after = try again.store.figures()
        #expect(after.viewSpareByteCount < 1 << 18)
        #expect(after.liveRecordCount == before.liveRecordCount)
        #expect(try await again.fetch("r99999")[0].get()["n"] == .int64(1))
        try again.store.close()
    }
}

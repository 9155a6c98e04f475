// Tidemark
// SPDX-License-Identifier: Apache-2.0

import CloudKit
import Testing
import Tidemark

/// A sync engine over a store with limits of its own.
@Suite struct `A sync engine at a limit` {
    @Test func `A batch that is too large for one request is halved`() async throws {
        var options = StoreOptions()
        options.limits.itemsPerRequest = 40
        let cloud = TidemarkCloud.temporary(options: options)
        let device = TidemarkDevice(cloud, user: "anna", name: "phone")
        let book = NoteBook(device.container())
        await book.addZone()
        for number in 0..<100 { await book.write("a", in: "n\(number)") }
        let engine = await book.engine()
        try await engine.sendChanges()
        #expect(engine.state.pendingRecordZoneChanges.isEmpty)
        #expect(await book.failures.isEmpty)
        await cloud.close()
    }
}

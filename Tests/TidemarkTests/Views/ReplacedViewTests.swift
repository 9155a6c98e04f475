// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import Tidemark
import TidemarkLog
import TidemarkModel
import TidemarkViews

/// Views whose files are replaced by writers, because somebody still reads the ones before.
@Suite struct ReplacedViewTests {
    private final class Flag: Sendable {
        let value = Mutex(false)
    }

    @Test func `Views that writers replace can be opened at any time`() async throws {
        let folder = try ScratchFolder()
        let path = folder.path()
        let client = Client(store: try Store.open(at: path, access: .creating))
        try await client.createZone()
        try await client.modify([try client.save("a", ["n": 1])])
        let store = client.store.id
        try client.store.close()
        let isDone = Flag()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                defer { isDone.value.withLock { $0 = true } }
                for _ in 0..<40 {
                    try LMDBViewIndex.renew(path + "/views", store: store)
                    // Between two openings for writing readers have a chance.
                    try await Task.sleep(for: .milliseconds(20))
                }
            }
            var openedCount = 0
            repeat {
                let index = try LMDBViewIndex.open(
                    path + "/views",
                    access: .readingLive,
                    store: store
                )
                #expect(try index.snapshot().checkpoint != nil)
                openedCount += 1
                // The writer needs a thread too.
                await Task.yield()
            } while !isDone.value.withLock { $0 }
            #expect(openedCount > 1)
            try await group.waitForAll()
        }
    }
}

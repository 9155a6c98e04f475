// Tidemark
// SPDX-License-Identifier: Apache-2.0

import SimulatedDisk
import Tidemark
import TidemarkLog
import TidemarkViews

extension StoreEnvironment {
    /// The environment of a store whose files are on a given disk, and its views in memory.
    ///
    /// Its log is written by the thread that saves, so that every run makes the same calls.
    init(_ files: any FileSystem, _ index: MemoryViewIndex) {
        self.init()
        log.fileSystem = files
        log.writesInline = true
        openIndex = { _, _, _ in index }
    }
}

extension CrashOutcome {
    /// One outcome of each kind, for a machine that stops at a call.
    static func all(afterStopAt call: Int) -> [CrashOutcome] {
        [.losingEverythingUnsynced, .keepingEverything, .seeded(UInt64(call)), .processKilled]
    }
}

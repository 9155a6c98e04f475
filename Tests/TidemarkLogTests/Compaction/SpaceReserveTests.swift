// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TidemarkLog

/// Room that is kept back for compacting a full disk.
@Suite struct SpaceReserveTests {
    private let path = CrashWorkload.path + "/RESERVE"

    @Test func `commits do not get what a compaction uses`() throws {
        let disk = SimulatedFileSystem()
        let (log, _) = try CrashWorkload.open(disk, seed: 1)
        var drafts = DraftSource(seed: 1)
        #expect(try !log.useReserve(), "nothing is kept back for a log without a finished segment")
        while try !disk.exists(path) {
            _ = try log.append(drafts.draft(payload: 300...900))
            try log.blockUntilDurable(log.lastSequence)
        }
        #expect(try log.useReserve())
        #expect(try !disk.exists(path))
        // There is room on this disk, and it is not for them.
        let refusal = #expect(throws: LogError.self) {
            for _ in 0..<1_000 {
                _ = try log.append(drafts.draft(payload: 300...900))
                try log.blockUntilDurable(log.lastSequence)
            }
        }
        #expect(refusal?.code == .full)
        // For the compaction it is.
        _ = try log.append(drafts.draft(), beginsSegment: true)
        log.restoreReserve()
        for _ in 0..<100 {
            _ = try log.append(drafts.draft(payload: 300...900))
            try log.blockUntilDurable(log.lastSequence)
        }
        #expect(try disk.exists(path))
        try log.close()
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

/// Commands in a process whose address space is limited: they work, or say what they need.
@Suite struct AddressSpaceTests {
    @Test(
        arguments: [
            "export test.tide", "query test.tide --type Item", "log verify test.tide",
            "save test.tide new --type Note --policy all-keys text=hi",
            "compact test.tide",
        ]
    )
    func `A command succeeds or names the limit`(command: String) async throws {
        let folder = try ScratchFolder()
        _ = try await folder.store(SampleHistory.lines(40))
        var statuses: Set<Int32> = []
        for kibibytes in [180_000, 240_000, 300_000, 400_000, 490_000, 520_000, 600_000, 3_000_000]
        {
            let outcome = try await Command.script(
                "ulimit -v \(kibibytes); exec $tidemark \(command)",
                in: folder
            )
            statuses.insert(outcome.status)
            // 1 is the command's own; a signal gives another.
            #expect(
                outcome.status == 0
                    || outcome.status == 1 && outcome.errors.contains("ulimit -v unlimited"),
                "\(kibibytes) KiB: \(outcome)"
            )
        }
        #expect(statuses.contains(0))
        if command.hasPrefix("save") { #expect(statuses.contains(1)) }
    }
}

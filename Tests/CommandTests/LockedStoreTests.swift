// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

/// Commands that write to a store which another process has open for writing.
@Suite struct LockedStoreTests {
    /// An import that keeps a store open until its input is closed; `$writer` is its process.
    private static let held = """
        mkfifo pipe; $tidemark import test.tide - < pipe > imported & writer=$!; exec 3> pipe
        cat first.jsonl >&3
        until $tidemark log ls test.tide > listed 2> listing && [ -s listed ]; do sleep 0.05; done
        """

    private func folder() throws -> ScratchFolder {
        let folder = try ScratchFolder()
        try SampleHistory.lines(1).joined(separator: "\n").appending("\n")
            .write(to: folder.url.appending(path: "first.jsonl"), atomically: true, encoding: .utf8)
        return folder
    }

    @Test(arguments: [
        "save test.tide x --type N n=1", "compact test.tide",
        "erase test.tide --user $(grep -o 'u-[0-9]' first.jsonl)",
    ])
    func `The error names the process and the option`(command: String) async throws {
        let outcome = try await Command.script(
            "\(Self.held); $tidemark \(command) 3>&-; status=$?; echo $writer; exec 3>&-; "
                + "wait $writer; exit $status",
            in: try folder()
        )
        let writer = try #require(outcome.lines.last)
        #expect(outcome.status == 1)
        #expect(outcome.errors.contains("Process \(writer) (tidemark) has the store open"))
        #expect(outcome.errors.contains("--wait"))
    }

    @Test func `A command waits for the other process to end`() async throws {
        let outcome = try await Command.script(
            """
            \(Self.held)
            $tidemark save test.tide x --type N n=1 --wait 2m 3>&- > saved 2> said & waiter=$!
            until grep -q Waiting said; do sleep 0.05; done
            exec 3>&-; wait $waiter; echo "waited: $?"; cat saved; wait $writer; echo "imported: $?"
            """,
            in: try folder()
        )
        #expect(outcome.output.contains("waited: 0"))
        #expect(outcome.output.contains(#""recordName":"x""#))
        #expect(outcome.output.contains("imported: 0"))
    }

    @Test func `A command does not wait longer than its limit`() async throws {
        let outcome = try await Command.script(
            """
            \(Self.held); $tidemark save test.tide x --type N n=1 --wait 1s 3>&-; status=$?
            exec 3>&-; wait $writer; exit $status
            """,
            in: try folder()
        )
        #expect(outcome.status == 1)
        #expect(outcome.errors.contains("has the store open for writing"))
        #expect(outcome.errors.contains("Waiting."))
    }
}

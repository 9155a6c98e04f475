// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@Suite struct LogTailTests {
    let folder: ScratchFolder

    init() throws {
        folder = try ScratchFolder()
    }

    @Test func `tail prints the last events and ends after its count`() async throws {
        let store = try await folder.store(SampleHistory.lines(50))
        let all = try await Command.run("log", "dump", store)
        let last = try await Command.run("log", "tail", store, "--last", "3", "--count", "3")
        #expect(last.status == 0)
        #expect(last.lines == all.lines.suffix(3))
        let from = try await Command.run("log", "tail", store, "--from", "5", "--count", "2")
        #expect(from.lines == Array(all.lines[4...5]))
    }

    @Test func `tail follows a store that another process writes`() async throws {
        let lines = SampleHistory.lines(60)
        let store = try await folder.store(Array(lines.prefix(20)))
        let before = try await Command.run("log", "dump", store).lines.count
        try Data(lines.suffix(40).map { "\($0)\n" }.joined().utf8)
            .write(to: URL(fileURLWithPath: folder.path("rest")))
        // The writer stays open for a while after its last line, as a live store does.
        let outcome = try await Command.script(
            """
            ( cat rest; sleep 2 ) | "$tidemark" import \(store) - >/dev/null &
            "$tidemark" log tail \(store) --from \(before + 1) --count 10
            wait
            """,
            in: folder
        )
        #expect(outcome.status == 0)
        let all = try await Command.run("log", "dump", store)
        #expect(outcome.lines == Array(all.lines[before..<before + 10]))
    }

    @Test func `tail ends when it is interrupted`() async throws {
        let store = try await folder.store(SampleHistory.lines(5))
        let outcome = try await Command.script(
            """
            "$tidemark" log tail \(store) --last 1 >printed & tail=$!
            until [ -s printed ]; do sleep 0.05; done
            kill -INT $tail; wait $tail; echo "status $?"; wc -l <printed
            """,
            in: folder
        )
        #expect(outcome.output == "status 0\n1\n")
    }

    @Test func `tail ends when its pipe is closed`() async throws {
        let store = try await folder.store(SampleHistory.lines(5))
        let outcome = try await Command.script(
            """
            ( "$tidemark" log tail \(store) --last 4; echo "status $?" >&2 ) | head -n 1
            """,
            in: folder
        )
        #expect(outcome.lines.count == 1)
        #expect(outcome.errors == "status 0\n")
    }
}

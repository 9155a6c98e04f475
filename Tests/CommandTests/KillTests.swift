// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@Suite struct KillTests {
    /// Kills the process at random moments of an import, again and again over one store.
    @Test(.timeLimit(.minutes(30)))
    func `Acknowledged commits survive a kill, and no commit is partial`() async throws {
        let seed = UInt64.random(in: 0...9_999)
        var numbers = SeededGenerator(seed: seed)
        let folder = try ScratchFolder()
        let store = folder.path("a.tide")
        let lines = SampleHistory.lines(runsLongTests ? 20_000 : 3_000)
        try Data(lines.map { "\($0)\n" }.joined().utf8)
            .write(to: folder.url.appending(path: "lines"))
        var fold = IndependentFold()
        var folded = 0
        let roundCount = runsLongTests ? 200 : 10
        var killCount = 0
        // How long an import may run differs a lot between machines, so the range follows what comes
        // of it: it doubles while kills come before there is a store, and halves when one finishes.
        var longestMilliseconds = 500
        while killCount < roundCount {
            let delay = Double(numbers.next() % UInt64(longestMilliseconds)) / 1000
            let outcome = try await Command.script(
                """
                "$tidemark" import \(store) lines --acknowledge-every 7 >/dev/null & import=$!
                sleep \(delay); kill -9 $import 2>/dev/null; wait $import; echo $?
                """,
                in: folder
            )
            let place: Comment = "seed \(seed), after \(killCount) kills"
            let status = outcome.output.trimmingCharacters(in: .whitespacesAndNewlines)
            try #require(["0", "137"].contains(status), "\(place): \(outcome.errors)")
            let said = outcome.errors.split(separator: "\n").filter { $0.hasPrefix("{") }
            let acknowledged =
                try said.last.map { line in
                    let object = try JSONSerialization.jsonObject(with: Data(line.utf8))
                    return try #require((object as? [String: Int])?["acknowledged"])
                } ?? 0
            guard FileManager.default.fileExists(atPath: "\(store)/CURRENT") else {
                try #require(acknowledged == 0, place)
                longestMilliseconds *= 2
                continue
            }
            let stat = try await Command.run("log", "stat", store)
            try #require(stat.status == 0, "\(place): \(stat.errors)")
            let commits = try #require(try stat.objects().first?["commits"] as? Int)
            #expect(commits >= acknowledged, place)
            #expect(commits >= folded, place)
            for line in lines[folded..<commits] { try fold.add(Data(line.utf8)) }
            folded = commits
            let exported = try await Command.run("export", store)
            #expect(exported.status == 0)
            #expect(
                try fold.difference(from: exported.lines) == nil,
                "\(place), \(commits) commits"
            )
            if status == "137" { killCount += 1 }
            if commits == lines.count, killCount < roundCount {
                longestMilliseconds = max(longestMilliseconds / 2, 2)
                try FileManager.default.removeItem(atPath: store)
                fold = IndependentFold()
                folded = 0
            }
        }
        let verified = try await Command.run("log", "verify", store)
        #expect(verified.status == 0, "seed \(seed): \(verified.output)\(verified.errors)")
        let rest = try await Command.run("import", store, folder.path("lines"))
        #expect(try rest.objects().first?["skipped"] as? Int == folded)
        #expect(try rest.objects().first?["commits"] as? Int == lines.count - folded)
    }
}

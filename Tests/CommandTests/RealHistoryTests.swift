// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TidemarkLog

@testable import TidemarkCommand

/// Twelve years of a real project, beside the clone; its first years unless `TIDEMARK_LONG` is set.
@Suite(.enabled(if: RealHistory.isThere, "needs ../shared/data/tldr-history.jsonl.gz"))
struct RealHistoryTests {
    @Test(.timeLimit(.minutes(90)))
    func `export and changes of a real history equal an independent fold`() async throws {
        let lines = try RealHistory.lines()
        let folder = try ScratchFolder()
        let store = folder.path("a.tide")
        // In four parts, with devices that come by after each.
        var devices: [(zone: String, replica: Replica)] = []
        for part in 1...4 {
            let end = lines.count * part / 4
            let input = lines[lines.count * (part - 1) / 4..<end].joined(separator: [0x0A])
            let outcome = try await Command.run(["import", store, "-"], input: Array(input))
            try #require(outcome.status == 0, "\(outcome.errors)")
            for zone in ["pages", "pages.zh", "pages.ko"] {
                let answer = try await Command.run("changes", store, "--zone", zone)
                guard answer.status == 0 else { continue }
                var replica = Replica()
                try replica.apply(answer)
                devices.append((zone, replica))
            }
        }
        try await checkPoints(store, lines)
        try #require(devices.count >= 4)
        let latest = Dictionary(devices.map { ($0.zone, $0.replica) }) { $1 }
        for (zone, replica) in devices {
            var replica = replica
            let token = try #require(replica.token)
            let delta = try await Command.run("changes", store, "--zone", zone, "--since", token)
            try replica.apply(delta)
            #expect(replica.records == latest[zone]?.records)
        }
    }

    /// Compares exports at random commits, and now, with a fold of the lines.
    private func checkPoints(_ store: String, _ lines: [[UInt8]]) async throws {
        let ends = try RealHistory.commitEnds(store)
        try #require(ends.count == lines.count)
        let seed = UInt64.random(in: 0...9_999)
        var numbers = SeededGenerator(seed: seed)
        let count = runsLongTests ? 60 : 5
        let points = Set((0..<count).map { _ in Int.random(in: 0..<lines.count, using: &numbers) })
        var fold = IndependentFold()
        for (index, line) in lines.enumerated() {
            try fold.add(line)
            guard points.contains(index) else { continue }
            let exported = try await Command.run("export", store, "--at", "\(ends[index])")
            #expect(
                try fold.difference(from: exported.lines) == nil,
                "seed \(seed), commit \(index)"
            )
        }
        let now = try await Command.run("export", store)
        #expect(try fold.difference(from: now.lines) == nil)
        let again = try await Command.run(
            ["import", store, "-"],
            input: Array(lines.suffix(500).joined(separator: [0x0A]))
        )
        #expect(try again.objects().first?["skipped"] as? Int == 500)
    }
}

/// The file of a real history.
enum RealHistory {
    /// Found from this file, so that it does not matter where tests are run.
    static let path = URL(fileURLWithPath: #filePath)
        .appendingPathComponent("../../../../shared/data/tldr-history.jsonl.gz")
        .standardizedFileURL.path

    static var isThere: Bool { FileManager.default.fileExists(atPath: path) }

    static func lines() throws -> [[UInt8]] {
        let file = try FileLines(path: path)
        var lines: [[UInt8]] = []
        while lines.count < (runsLongTests ? .max : 2_500), let line = try file.next() {
            lines.append(Array(line))
        }
        return lines
    }

    /// The position of each commit's last event.
    static func commitEnds(_ store: String) throws -> [UInt64] {
        let reader = try LogReader(store, fileSystem: PosixFileSystem())
        var ends: [UInt64] = []
        try reader.scan(
            from: SequenceNumber(rawValue: 1),
            through: reader.durableSequence
        ) { event in
            if event.sequence == event.commit.last { ends.append(event.sequence.rawValue) }
            return true
        }
        return ends
    }
}

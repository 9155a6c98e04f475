// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import Tidemark
import TidemarkLock
import TidemarkLog
import TidemarkModel

/// The beginning of a real history, against a fold of its JSON by another reader.
@Suite struct RealHistoryTests {
    /// `../shared/data` beside the package.
    private static let file = URL(filePath: #filePath)
        .appending(path: "../../../../../shared/data/tldr-history.jsonl.gz").standardized

    /// Commits that are imported: a debug build reads JSON slowly.
    ///
    /// All of them take a few seconds in a release build, which the benchmark measures.
    private static let commitCount = 2_500

    /// A page's text, by zone and name.
    private typealias State = [String: [String: String]]

    @Test(
        .enabled(
            if: FileManager.default.fileExists(atPath: file.path),
            "../shared/data/tldr-history.jsonl.gz is not there"
        )
    )
    func `A real history equals an independent fold`() async throws {
        let lines = try Self.lines()
        let folder = try ScratchFolder()
        var options = StoreOptions()
        options.checkpointEventCount = 3_000
        let store = try Store.open(at: folder.path(), access: .creating, options: options)
        var importing = try store.beginImport()
        var reader = ChangeStreamReader()
        var states: [(position: SequenceNumber, state: State)] = []
        var tokens: [(token: ChangeToken, state: [String: String])] = []
        var state: State = [:]
        let client = Client(store: store, zone: ZoneID(zoneName: "pages"))
        for (number, line) in lines.enumerated() {
            _ = try await importing.add(try reader.read(Array(line)))
            try Self.fold(line, into: &state)
            if number % 500 == 499 {
                try await importing.finish()
                states.append((store.lastSequence, state))
                tokens.append((try await client.changes().token, state["pages"] ?? [:]))
            }
        }
        try await importing.finish()
        for (position, expected) in states {
            #expect(try Self.state(of: store, asOf: position) == expected)
        }
        for (token, known) in tokens {
            var pages = known
            for change in try await client.changes(since: token).changes {
                switch change {
                case .changed(let record): pages[record.recordID.recordName] = Self.text(of: record)
                case .deleted(let deleted): pages[deleted.recordID.recordName] = nil
                }
            }
            #expect(pages == state["pages"])
        }
        let last = store.lastSequence
        var again = try store.beginImport()
        for line in lines.prefix(300) {
            #expect(try await again.add(try reader.read(Array(line))) == .skipped)
        }
        #expect(store.lastSequence == last)
        try store.close()
    }

    /// What a store holds, in one number: a sum over all pages, so that a fold can keep it up to date.
    private struct Digest: Equatable {
        var count = 0
        var sum = 0

        mutating func add(_ zone: String, _ name: String, _ text: String?) {
            count += 1
            sum &+= Self.hash(zone, name, text)
        }

        mutating func remove(_ zone: String, _ name: String, _ text: String?) {
            count -= 1
            sum &-= Self.hash(zone, name, text)
        }

        private static func hash(_ zone: String, _ name: String, _ text: String?) -> Int {
            var hasher = Hasher()
            hasher.combine(zone)
            hasher.combine(name)
            // Foundation's reader of JSON drops a byte order mark at the beginning of a text.
            hasher.combine(text.map { String($0.unicodeScalars.drop { $0 == "\u{FEFF}" }) })
            return hasher.finalize()
        }

        init() {}

        init(of store: Store, asOf position: SequenceNumber) throws(SyncError) {
            var digest = Digest()
            try store.visitRecords(of: .standard, asOf: position) { record in
                digest.add(record.zone.zoneName, record.recordID.recordName, text(of: record))
                return true
            }
            self = digest
        }
    }

    /// Points of the history, each with what an independent fold holds there.
    private static func points(
        of lines: [Data],
        _ count: Int,
        through importing: (Data) async throws -> SequenceNumber
    ) async throws -> [(position: SequenceNumber, digest: Digest)] {
        var points: [(position: SequenceNumber, digest: Digest)] = []
        var state: State = [:]
        var digest = Digest()
        for (number, line) in lines.enumerated() {
            let position = try await importing(line)
            let pages = try pages(changedBy: line)
            for (zone, name) in pages {
                if let text = state[zone]?[name] { digest.remove(zone, name, text) }
            }
            try fold(line, into: &state)
            for (zone, name) in pages {
                if let text = state[zone]?[name] { digest.add(zone, name, text) }
            }
            if (number + 1) * count / lines.count > number * count / lines.count {
                points.append((position, digest))
            }
        }
        return points
    }

    /// The pages that a line names, each once.
    private static func pages(changedBy line: Data) throws -> [(zone: String, name: String)] {
        let object = try JSONSerialization.jsonObject(with: line) as? [String: Any]
        var seen: Set<[String]> = []
        return try (object?["changes"] as? [[String: Any]] ?? []).compactMap { change in
            let zone = try #require(change["zone"] as? String)
            let name = try #require(change["recordName"] as? String)
            return seen.insert([zone, name]).inserted ? (zone, name) : nil
        }
    }

    @Test(
        .enabled(
            if: FileManager.default.fileExists(atPath: file.path),
            "../shared/data/tldr-history.jsonl.gz is not there"
        )
    )
    func `At any point, a compacted store equals an independent fold or is pruned`() async throws {
        let lines = try Self.lines(runsLongTests ? .max : 800)
        let folder = try ScratchFolder()
        let clock = Lock<Int64>(1_800_000_000_000)
        var environment = StoreEnvironment()
        environment.log.now = { clock.withLock { $0 } }
        environment.log.uptime = nil
        var options = StoreOptions()
        options.checkpointEventCount = 3_000
        options.segmentByteCount = 1 << 20
        options.durability = .none
        let store = try Store.open(
            at: folder.path(),
            access: .creating,
            options: options,
            environment: environment
        )
        var importing = try store.beginImport()
        var reader = ChangeStreamReader()
        var number = 0
        let points = try await Self.points(of: lines, runsLongTests ? 200 : 40) { line in
            _ = try await importing.add(try reader.read(Array(line)))
            number += 1
            try await importing.finish()
            // Between the two halves a day goes by.
            if number == (lines.count + 1) / 2 { clock.withLock { $0 += 24 * 60 * 60 * 1000 } }
            return store.lastSequence
        }
        #expect(points.count == (runsLongTests ? 200 : 40))
        for (position, digest) in points {
            #expect(try Digest(of: store, asOf: position) == digest, "\(position)")
        }
        var policy = CompactionPolicy()
        policy.history = .atLeast(.seconds(12 * 60 * 60))
        let report = try await store.compact(policy)
        #expect(report.droppedCount > 0)
        let horizon = points[points.count / 2 - 1].position
        #expect(report.historyHorizon == horizon)
        try store.close()
        let compacted = try Store.open(at: folder.path(), access: .reading)
        for (position, digest) in points {
            if position >= horizon {
                #expect(try Digest(of: compacted, asOf: position) == digest, "\(position)")
                continue
            }
            let error = #expect(throws: SyncError.self) {
                try Digest(of: compacted, asOf: position)
            }
            #expect(error?.isHistoryPruned == true)
        }
        try compacted.close()
    }

    private static func lines(_ commitCount: Int = commitCount) throws -> [Data] {
        let gzip = Process()
        gzip.executableURL = URL(filePath: "/usr/bin/env")
        gzip.arguments = ["gzip", "-dc", file.path]
        let pipe = Pipe()
        gzip.standardOutput = pipe
        try gzip.run()
        var lines: [Data] = []
        var rest = Data()
        while lines.count < commitCount {
            let chunk = pipe.fileHandleForReading.readData(ofLength: 1 << 20)
            if chunk.isEmpty { break }
            rest.append(chunk)
            while let end = rest.firstIndex(of: 10), lines.count < commitCount {
                lines.append(Data(rest[rest.startIndex..<end]))
                rest = rest[(end + 1)...]
            }
        }
        gzip.terminate()
        return lines
    }

    private static func fold(_ line: Data, into state: inout State) throws {
        let object = try JSONSerialization.jsonObject(with: line) as? [String: Any]
        for change in object?["changes"] as? [[String: Any]] ?? [] {
            let zone = try #require(change["zone"] as? String)
            let name = try #require(change["recordName"] as? String)
            if change["op"] as? String == "save" {
                let fields = change["fields"] as? [String: Any]
                state[zone, default: [:]][name] = fields?["text"] as? String
            } else {
                state[zone]?[name] = nil
                if state[zone]?.isEmpty == true { state[zone] = nil }
            }
        }
    }

    private static func text(of record: Record) -> String? {
        if case .string(let text) = record["text"] { text } else { nil }
    }

    private static func state(of store: Store, asOf position: SequenceNumber) throws -> State {
        var state: State = [:]
        try store.visitRecords(of: .standard, asOf: position) { record in
            state[record.zone.zoneName, default: [:]][record.recordID.recordName] = text(of: record)
            return true
        }
        return state
    }
}

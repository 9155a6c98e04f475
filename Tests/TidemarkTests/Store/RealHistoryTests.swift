// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Tidemark
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
    func `a real history shows what an independent fold shows`() async throws {
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

    private static func lines() throws -> [Data] {
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

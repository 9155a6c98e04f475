// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// One commit of a change stream, of the shape that the real history has.
public struct RealCommit: Decodable, Sendable {
    /// Milliseconds since 1970.
    public var time: Int64
    /// Who made the commit.
    public var user: String
    /// What it changed.
    public var changes: [RealChange]
}

/// One save or delete of a page.
public struct RealChange: Decodable, Sendable {
    /// The fields of a page.
    public struct Fields: Decodable, Sendable {
        /// The command the page is about.
        public var title: String
        /// The systems it is for.
        public var folder: String
        /// The page in Markdown.
        public var text: String
        /// Lines in the text.
        public var lines: Int64
    }

    /// The zone: a language.
    public var zone: String
    /// The record: a page.
    public var recordName: String
    /// `nil` for a delete.
    public var fields: Fields?
}

/// The history whose bytes on disk are compared: the real one where it lies beside the project,
/// otherwise a generated one of the same size.
public enum RealHistory {
    /// Where the real history is; `nil` if it is not there.
    public static func path(beside project: String) -> String? {
        let path = project + "/../shared/data/tldr-history.jsonl.gz"
        return FileManager.default.isReadableFile(atPath: path) ? path : nil
    }

    /// Every commit of the file at a path, or of the generated history: some 100 MB.
    public static func read(_ path: String?) throws -> [RealCommit] {
        guard let path else { return generated() }
        var commits: [RealCommit] = []
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["gzip", "-dc", path]
        process.standardOutput = output
        try process.run()
        let decoder = JSONDecoder()
        var rest = Data()
        while true {
            let read = output.fileHandleForReading.availableData
            if read.isEmpty { break }
            rest.append(read)
            var start = rest.startIndex
            while let end = rest[start...].firstIndex(of: UInt8(ascii: "\n")) {
                commits.append(try decoder.decode(RealCommit.self, from: rest[start..<end]))
                start = end + 1
            }
            rest = Data(rest[start...])
        }
        process.waitUntilExit()
        guard process.terminationStatus == 0, rest.isEmpty else {
            throw CocoaError(.fileReadCorruptFile)
        }
        return commits
    }

    /// 45,000 pages in 40 zones, each written two or three times, six to a commit.
    private static func generated() -> [RealCommit] {
        var commits: [RealCommit] = []
        let pages = PageSource()
        var time: Int64 = 1_400_000_000_000
        for round in [45_000, 45_000, 18_000].enumerated() {
            let history = History(zoneCount: 40, recordCount: 45_000, roundCount: 3)
            for start in stride(from: 0, to: round.element, by: 6) {
                let changes = (start..<start + 6).map { place in
                    let change = history.change(place, inRound: round.offset)
                    let page = pages.page(for: change)
                    return RealChange(
                        zone: "zone-\(change.zone)",
                        recordName: change.name,
                        fields: RealChange.Fields(
                            title: String(decoding: page.title, as: UTF8.self),
                            folder: String(decoding: page.folder, as: UTF8.self),
                            text: String(decoding: page.text, as: UTF8.self),
                            lines: page.lineCount
                        )
                    )
                }
                time += 3_600_000
                commits.append(
                    RealCommit(time: time, user: "u-\(start % 3_000)", changes: changes)
                )
            }
        }
        return commits
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Tidemark
import TidemarkModel
import Workload

/// One thing that happens once per record.
struct HotPath: Sendable {
    let name: String
    /// Makes ready for so many operations.
    let prepare: @Sendable (Int) throws -> Prepared

    /// A path that is ready.
    struct Prepared {
        /// Runs the operation so many times, at most as often as was prepared for.
        let run: (Int) throws -> Void
    }

    static let all = [encode, decode, readField]

    /// Encodes the body of a new record from its fields.
    static let encode = HotPath(name: "encode") { count in
        let fields = try pages(count).map(fields)
        return Prepared { count in
            var byteCount = 0
            for index in 0..<count {
                byteCount += RecordBody(header(index), fields: fields[index]).bytes.count
            }
            try demand(byteCount > 0 || count == 0)
        }
    }

    /// Checks the structure of a stored body and wraps it.
    static let decode = HotPath(name: "decode") { count in
        let bodies = try bodies(count)
        return Prepared { count in
            var byteCount = 0
            for index in 0..<count {
                byteCount += try RecordBody(stored: bodies[index].bytes).bytes.count
            }
            try demand(byteCount > 0 || count == 0)
        }
    }

    /// Reads one number out of a body.
    static let readField = HotPath(name: "readField") { count in
        let bodies = try bodies(count)
        return Prepared { count in
            var found = 0
            for index in 0..<count where bodies[index].fields["lines"] != nil { found += 1 }
            try demand(found == count)
        }
    }

    private static func pages(_ count: Int) -> [Page] {
        let source = PageSource()
        return (0..<count).map { source.page(for: Change(zone: 0, number: $0)) }
    }

    private static func fields(_ page: Page) throws -> Fields {
        try Fields([
            "title": .string(String(decoding: page.title, as: UTF8.self)),
            "folder": .string(String(decoding: page.folder, as: UTF8.self)),
            "text": .string(String(decoding: page.text, as: UTF8.self)),
            "lines": .int64(page.lineCount),
        ])
    }

    private static func header(_ index: Int) -> RecordHeader {
        RecordHeader(
            recordName: Name(Change(zone: 0, number: index).name),
            recordType: "Page",
            created: Authorship(time: 1, user: nil),
            modified: Authorship(time: 1, user: nil)
        )
    }

    private static func bodies(_ count: Int) throws -> [RecordBody] {
        try pages(count).enumerated().map {
            RecordBody(header($0.offset), fields: try fields($0.element))
        }
    }

    /// Also keeps the compiler from leaving the work out.
    private static func demand(_ condition: Bool) throws {
        guard condition else { throw WrongCount() }
    }
}

/// A path did not do what it was asked to do.
struct WrongCount: Error {}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Tidemark
import TidemarkModel
import Workload

extension HotPath {
    /// Records and their bytes.
    static let records = [encode, decode, readField]

    /// Encodes the body of a new record from its fields.
    private static let encode = HotPath(name: "record.encode") { count in
        let fields = try Pages.make(count).map(Pages.fields)
        return Prepared { count in
            var byteCount = 0
            for index in 0..<count {
                byteCount += RecordBody(Pages.header(index), fields: fields[index]).bytes.count
            }
            try demand(byteCount > 0 || count == 0)
        }
    }

    /// Checks the structure of a stored body and wraps it.
    private static let decode = HotPath(name: "record.decode") { count in
        let bodies = try Pages.bodies(count)
        return Prepared { count in
            var byteCount = 0
            for index in 0..<count {
                byteCount += try RecordBody(stored: bodies[index].bytes).bytes.count
            }
            try demand(byteCount > 0 || count == 0)
        }
    }

    /// Reads one number out of a body.
    private static let readField = HotPath(name: "record.readField") { count in
        let bodies = try Pages.bodies(count)
        return Prepared { count in
            var found = 0
            for index in 0..<count where bodies[index].fields["lines"] != nil { found += 1 }
            try demand(found == count)
        }
    }
}

/// The workload's pages as records.
enum Pages {
    static let source = PageSource()

    static func make(_ count: Int) -> [Page] {
        (0..<count).map { source.page(for: Change(zone: 0, number: $0)) }
    }

    static func fields(_ page: Page) throws -> Fields {
        try Fields([
            "title": .string(String(decoding: page.title, as: UTF8.self)),
            "folder": .string(String(decoding: page.folder, as: UTF8.self)),
            "text": .string(String(decoding: page.text, as: UTF8.self)),
            "lines": .int64(page.lineCount),
        ])
    }

    static func header(_ index: Int) -> RecordHeader {
        RecordHeader(
            recordName: Name(Change(zone: 0, number: index).name),
            recordType: "Page",
            created: Authorship(time: 1, user: nil),
            modified: Authorship(time: 1, user: nil)
        )
    }

    static func bodies(_ count: Int) throws -> [RecordBody] {
        try make(count).enumerated().map {
            RecordBody(header($0.offset), fields: try fields($0.element))
        }
    }
}

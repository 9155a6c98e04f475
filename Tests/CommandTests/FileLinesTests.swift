// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@testable import TidemarkCommand

@Suite struct FileLinesTests {
    private func read(_ path: String) throws -> [String] {
        let lines = try FileLines(path: path)
        var all: [String] = []
        while let line = try lines.next() { all.append(String(decoding: line, as: UTF8.self)) }
        return all
    }

    @Test func `A compressed file has the same lines as the plain file`() throws {
        let folder = try ScratchFolder()
        try shell(
            """
            i=0; while [ $i -lt 5000 ]; do echo "line $i of some text"; i=$((i + 1)); done > a.jsonl
            printf 'no end' >> a.jsonl; gzip -k a.jsonl
            """,
            in: folder
        )
        let plain = try read(folder.path("a.jsonl"))
        #expect(plain.count == 5001)
        #expect(plain.last == "no end")
        #expect(try read(folder.path("a.jsonl.gz")) == plain)
    }

    @Test(arguments: ["1\n", ""]) func `The error for a line that is too long has its number`(
        rest: String
    ) throws {
        let folder = try ScratchFolder()
        let path = folder.path("a.jsonl")
        let longest = String(repeating: "x", count: 299_999)
        try Data("first\n\(longest)\n\(longest)\(rest.isEmpty ? "1" : rest)".utf8)
            .write(to: URL(fileURLWithPath: path))
        let lines = try FileLines(path: path, lineLimit: 300_000)
        #expect(try lines.next()?.count == 5)
        #expect(try lines.next()?.count == 299_999)
        #expect {
            try lines.next()
        } throws: { error in
            "\(error)".hasPrefix("line 3: It has more than 300000 bytes")
        }
    }

    @Test func `A byte order mark and trailing blank lines are skipped`() throws {
        let folder = try ScratchFolder()
        try shell(#"printf '\357\273\277one\r\n\n\ntwo\n\n \t\r\n' > a.jsonl"#, in: folder)
        let lines = try FileLines(path: folder.path("a.jsonl"))
        var found: [String] = []
        while let line = try lines.next() {
            found.append("\(lines.place): \(String(decoding: line, as: UTF8.self))")
        }
        #expect(found == ["line 1: one\r", "line 2: ", "line 4: two"])
    }

    @Test func `A truncated compressed file returns its whole lines, then throws`() throws {
        let folder = try ScratchFolder()
        try shell(
            """
            i=0; while [ $i -lt 5000 ]; do echo "line $i of some text"; i=$((i + 1)); done > a.jsonl
            gzip -c a.jsonl | head -c 5000 > cut.gz
            """,
            in: folder
        )
        let lines = try FileLines(path: folder.path("cut.gz"))
        var count = 0
        do {
            while let line = try lines.next() {
                #expect(String(decoding: line, as: UTF8.self) == "line \(count) of some text")
                count += 1
            }
            Issue.record("the cut went unnoticed")
        } catch let error as CommandError {
            #expect(error.description == "gzip failed with status 1; its message is above.")
        }
        #expect(count > 100)
        #expect(lines.place == "line \(count)")
    }

    @Test func `The error names a missing file`() throws {
        let folder = try ScratchFolder()
        let path = folder.path("absent.jsonl")
        do {
            _ = try FileLines(path: path)
            Issue.record("opened nothing")
        } catch let error as CommandError {
            #expect(
                error.description
                    == "\(path) cannot be opened: No such file or directory. Check the path."
            )
        }
    }
}

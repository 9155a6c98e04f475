// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@testable import TidemarkCommand

@Suite struct OutputTests {
    @Test func `A cell passes no control characters to the terminal`() {
        var table = Table([("name", .left)])
        table.append(["\u{1B}]0;title\u{07}Anna"])
        #expect(table.lines.last == "\u{FFFD}]0;title\u{FFFD}Anna")
    }

    @Test func `Table columns are as wide as their contents`() {
        var table = Table([("zone", .left), ("records", .right)])
        table.append(["a", "12345678"])
        table.append(["a longer zone", "1"])
        #expect(
            table.lines == [
                "zone            records",
                "a              12345678",
                "a longer zone         1",
            ]
        )
    }

    @Test func `Lines are written to a pipe completely and in order`() throws {
        let folder = try ScratchFolder()
        try Data().write(to: URL(fileURLWithPath: folder.path("out")))
        let file = try #require(FileHandle(forWritingAtPath: folder.path("out")))
        var output = StandardOutput(descriptor: file.fileDescriptor)
        for number in 0..<50_000 { try output.line("line \(number)") }
        try output.flush()
        let text = try String(contentsOfFile: folder.path("out"), encoding: .utf8)
        #expect(text == (0..<50_000).map { "line \($0)\n" }.joined())
    }

    @Test func `What was complete before an error is written`() throws {
        let folder = try ScratchFolder()
        try Data().write(to: URL(fileURLWithPath: folder.path("out")))
        let file = try #require(FileHandle(forWritingAtPath: folder.path("out")))
        func write() throws {
            var output = StandardOutput(descriptor: file.fileDescriptor)
            try output.line("whole")
            throw CocoaError(.fileReadUnknown)
        }
        #expect(throws: CocoaError.self) { try write() }
        #expect(try String(contentsOfFile: folder.path("out"), encoding: .utf8) == "whole\n")
    }

    #if os(Linux)
    @Test func `The error has the reason why output cannot be written`() throws {
        let full = try #require(FileHandle(forWritingAtPath: "/dev/full"))
        var output = StandardOutput(descriptor: full.fileDescriptor)
        do {
            try output.line("text")
            try output.flush()
            Issue.record("wrote to a full device")
        } catch let error as CommandError {
            #expect(
                error.description
                    == "standard output cannot be written: No space left on device. Free space on that "
                    + "disk, then try again."
            )
        }
    }
    #endif

    @Test func `The progress bar shows the known values`() {
        let elapsed = Duration.seconds(12)
        #expect(
            Progress.line(part: 0.5, counted: "7 commits", elapsed: elapsed)
                == "[===============               ] 50 %  7 commits  12 s"
        )
        #expect(
            Progress.line(part: nil, counted: "7 commits", elapsed: elapsed) == "7 commits  12 s"
        )
        #expect(Progress.line(part: 7, counted: "", elapsed: elapsed).contains("100 %"))
    }
}

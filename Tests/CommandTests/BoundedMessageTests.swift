// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@testable import TidemarkCommand

@Suite struct BoundedMessageTests {
    /// As long as the system lets one argument be, nearly.
    let long = String(repeating: "x", count: 100_000)

    @Test func `A short message is not changed`() {
        let input = String(repeating: "y", count: 200)
        #expect("'\(input)' is no point.".bounded(echoing: [input]) == "'\(input)' is no point.")
    }

    @Test func `A long input is echoed as its beginning and its length`() {
        let beginning = String(repeating: "x", count: 200)
        for input in [long, "--at=\(long)"] {
            let message = "'\(long)' is no point. Give another.".bounded(echoing: [input])
            #expect(message == "'\(beginning)… (100,000 characters)' is no point. Give another.")
        }
    }

    @Test func `A long message without an input keeps its beginning and its end`() {
        let message = "line 3: \(long) is no member. Leave it out.\nUsage: all".bounded(echoing: [])
        #expect(message.utf8.count < 1000)
        #expect(message.hasPrefix("line 3: xxx"))
        #expect(message.contains("… (100,036 characters) …"))
        #expect(message.hasSuffix(" is no member. Leave it out.\nUsage: all"))
    }

    @Test(arguments: [
        ["record", "a.tide", "LONG"], ["record", "a.tide", "--LONG"], ["record", "LONG", "y"],
        ["export", "a.tide", "--at", "LONG"], ["export", "a.tide", "--at=LONG"],
        ["query", "a.tide", "--type", "T", "--where", "LONG"],
        ["query", "a.tide", "--type", "T", "--limit", "LONG"], ["LONG"],
        ["import", "new.tide", "LONG"], ["save", "a.tide", "r", "--type", "T", "LONG"],
        ["save", "a.tide", "r", "--type", "T", "LONG=1"], ["changes", "a.tide", "--zone", "LONG"],
        ["compact", "a.tide", "--history", "LONG"], ["log", "dump", "a.tide", "--since", "LONG"],
    ])
    func `A long argument is not echoed in full`(arguments: [String]) async throws {
        let folder = try ScratchFolder()
        _ = try await folder.store(SampleHistory.lines(2), name: "a.tide")
        let outcome = try await Command.run(
            arguments.map {
                $0.hasSuffix(".tide") ? folder.path($0) : $0.replacing("LONG", with: long)
            },
            input: []
        )
        #expect(outcome.status != 0 && !outcome.errors.isEmpty)
        #expect(outcome.errors.utf8.count < 4000)
    }

    @Test func `A long line of an import is not echoed in full`() async throws {
        let folder = try ScratchFolder()
        let megabyte = String(repeating: "x", count: 1_000_000)
        for line in [
            megabyte, "{\"\(megabyte)\":1}",
            "{\"time\":\(String(repeating: "1", count: 1_000_000))}",
        ] {
            let outcome = try await Command.run("import", folder.path("a.tide"), "-", input: line)
            #expect(outcome.status == 1 && outcome.errors.hasPrefix("Error: line 1: "))
            #expect(outcome.errors.utf8.count < 2000)
        }
    }
}

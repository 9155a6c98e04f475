// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Testing

@testable import TidemarkCommand

@Suite struct UsageTests {
    @Test(arguments: [["--help"], []])
    func `Help goes to standard output`(arguments: [String]) async throws {
        let outcome = try await Command.run(arguments)
        #expect(outcome.status == 0)
        #expect(outcome.output.hasPrefix("OVERVIEW: A sync engine with CloudKit's model"))
        #expect(outcome.output.contains("USAGE: tidemark"))
        #expect(outcome.errors == "")
    }

    @Test func `--version prints the version that the source names`() async throws {
        let outcome = try await Command.run("--version")
        #expect(outcome.status == 0 && outcome.output == "\(version)\n")
        #expect(version.wholeMatch(of: /\d+\.\d+\.\d+(-dev)?/) != nil)
    }

    @Test(arguments: [["conquer"], ["--conquer"]])
    func `A usage error exits with 64 and prints to stderr`(arguments: [String]) async throws {
        let outcome = try await Command.run(arguments)
        #expect(outcome.status == 64)
        #expect(outcome.output == "")
        #expect(outcome.errors.contains("conquer"))
        #expect(outcome.errors.contains("tidemark --help"))
    }

    @Test func `The help of every command has an example of it`() {
        var words: [String] = []
        var count = 0
        func check(_ command: any ParsableCommand.Type) {
            words.append(command._commandName)
            defer { words.removeLast() }
            let subcommands = command.configuration.subcommands
            for subcommand in subcommands { check(subcommand) }
            guard subcommands.isEmpty else { return }
            count += 1
            let line = words.joined(separator: " ")
            #expect(command.configuration.discussion.contains("\(line) "), "\(line)")
        }
        check(TidemarkCommand.self)
        #expect(count > 50)
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation
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

    /// A command as the argument parser describes it.
    private struct Described: Decodable {
        struct Argument: Decodable {
            struct Name: Decodable {
                var kind: String
                var name: String
            }

            var kind: String
            var names: [Name]?
            var isOptional: Bool
            var isRepeating: Bool
        }

        var commandName: String
        var subcommands: [Described]?
        var arguments: [Argument]?
    }

    @Test func `No command has two options of one name, or an argument that cannot be reached`()
        throws
    {
        struct Dump: Decodable { var command: Described }
        let json = Data(TidemarkCommand._dumpHelp().utf8)
        var count = 0
        func check(_ command: Described, _ line: String) {
            let arguments = command.arguments ?? []
            let names = arguments.flatMap { ($0.names ?? []).map { "\($0.kind) \($0.name)" } }
            #expect(Set(names).count == names.count, "\(line): \(names)")
            let positional = arguments.filter { $0.kind == "positional" }
            // A list takes all arguments after it, and an optional argument takes the next one.
            let isReached = !positional.dropLast().contains { $0.isRepeating || $0.isOptional }
            #expect(isReached, "\(line)")
            count += names.count
            for next in command.subcommands ?? [] { check(next, "\(line) \(next.commandName)") }
        }
        let root = try JSONDecoder().decode(Dump.self, from: json).command
        check(root, root.commandName)
        #expect(count > 200)
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation
import HotPaths

/// Counts instructions, by running this program under valgrind.
struct InstructionsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "instructions",
        abstract: "Count the instructions of every path."
    )

    @Option(help: "The operations of one run, instead of 2,000, or 20,000 of a batch.")
    var count: Int?
    @Option(help: "Only the paths with this in their name.")
    var only: String?
    @Option(help: "A baseline: name every path that became more than 3 % dearer, and fail.")
    var compare: String?
    @Option(help: "The file for a new baseline; it keeps the reasons of the one that it replaces.")
    var write: String?

    func run() throws {
        let baseline = try compare.map(InstructionBaseline.init(path:)) ?? InstructionBaseline()
        var dearer: [String] = []
        var counted = InstructionBaseline()
        if let write, FileManager.default.fileExists(atPath: write) {
            counted = try InstructionBaseline(path: write)
        }
        for path in HotPath.all where only.map(path.name.contains) ?? true {
            // Starting and preparing cost the same in both runs, so the difference is the path.
            let count = self.count ?? path.countedOperationCount
            let nothing = try collected(path.name, count: 0, of: count)
            let all = try collected(path.name, count: count, of: count)
            let cost = (all - nothing) / count
            let change = baseline.change(of: path.name, to: cost)
            print("\(path.name): \(cost) instructions an operation\(change.text)")
            if change.isDearer { dearer.append(path.name) }
            counted.paths[path.name, default: .init(instructions: cost)].instructions = cost
        }
        if let write { try counted.write(to: write) }
        if !dearer.isEmpty {
            throw ValidationError(
                "more than 3 % dearer than in \(compare ?? ""): \(dearer.joined(separator: ", ")). "
                    + "Make them cheaper, or write a new baseline with the reason in \"accepted\"."
            )
        }
    }

    /// Settings with which glibc copies and fills memory by vectors.
    ///
    /// Otherwise it lets the processor repeat one instruction for long copies, and valgrind counts each
    /// byte of them as an instruction.
    private static let tunables = ["rep_movsb", "rep_stosb"]
        .map { "glibc.cpu.x86_\($0)_threshold=0x10000000" }
        .joined(separator: ":")

    private func collected(_ path: String, count: Int, of preparedCount: Int) throws -> Int {
        guard let program = Bundle.main.executablePath else {
            throw ValidationError("this program cannot find itself")
        }
        let process = Process()
        let errors = Pipe()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [
            "GLIBC_TUNABLES=\(Self.tunables)", "valgrind", "--tool=callgrind",
            "--callgrind-out-file=/dev/null", program, "run", path,
            "--prepared", String(preparedCount), "--count", String(count),
        ]
        process.standardError = errors
        try process.run()
        let text = String(
            decoding: errors.fileHandleForReading.readDataToEndOfFile(),
            as: UTF8.self
        )
        process.waitUntilExit()
        let line = text.split(separator: "\n").last { $0.contains("Collected :") }
        guard process.terminationStatus == 0 else {
            throw ValidationError("\(path) failed under valgrind:\n\(text)")
        }
        guard let number = line?.split(separator: " ").last.flatMap({ Int($0) }) else {
            throw ValidationError("valgrind counted nothing:\n\(text)")
        }
        return number
    }
}

extension HotPath {
    /// The number of operations after which what a process does once hardly counts.
    ///
    /// The first commit of a process takes two million instructions more than others, most of them
    /// Swift's lookups of types. A first sync decodes blocks of up to 4,000 records ahead, and how many
    /// of them depends on when its threads run.
    fileprivate var countedOperationCount: Int {
        name.contains("400") || name.contains("firstSync") ? 20_000 : 2_000
    }
}

/// The committed instruction counts of the hot paths, by name.
struct InstructionBaseline: Codable {
    struct Path: Codable {
        var instructions: Int
        /// The reason why the path was allowed to become dearer, if it was.
        var accepted: String?
    }

    var paths: [String: Path] = [:]

    init() {}

    init(path: String) throws {
        paths = try JSONDecoder().decode(
            [String: Path].self,
            from: Data(contentsOf: URL(fileURLWithPath: path))
        )
    }

    func write(to path: String) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        try (encoder.encode(paths) + Data("\n".utf8)).write(to: URL(fileURLWithPath: path))
    }

    /// Compares a count with the baseline's; a path that the baseline lacks is not dearer.
    func change(of name: String, to instructions: Int) -> (text: String, isDearer: Bool) {
        guard let known = paths[name], known.instructions > 0 else { return ("", false) }
        let percent = 100 * (Double(instructions) / Double(known.instructions) - 1)
        let text = String(format: ", %+.1f %% of %d", percent, known.instructions)
        return (text + (known.accepted.map { " (\($0))" } ?? ""), percent > 3)
    }
}

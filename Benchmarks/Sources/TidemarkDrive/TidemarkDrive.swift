// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import CAllocations
import Foundation
import HotPaths

/// Runs one hot path at a time, on one thread, so that what it costs can be counted exactly:
/// allocations by the hook in this program, instructions by valgrind around it.
@main
struct TidemarkDrive: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tidemark-drive",
        abstract: "Counts what the hot paths cost: allocations and instructions, not seconds.",
        subcommands: [
            RunCommand.self, AllocationsCommand.self, InstructionsCommand.self,
            IdleHeapCommand.self, CliffsCommand.self,
        ]
    )
}

/// What one operation of a path costs.
struct Cost: Codable {
    var name: String
    var perOperation: Double
    /// Bytes asked for, where allocations were counted.
    var byteCountPerOperation: Double?
}

/// Prepares a path and runs it: what valgrind looks at.
struct RunCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Run one path and say nothing."
    )

    @Argument var path: String
    @Option(help: "Operations to prepare for.")
    var prepared = 2_000
    @Option(help: "Operations to run.")
    var count = 2_000

    func run() throws {
        guard let path = HotPath.all.first(where: { $0.name == path }) else {
            throw ValidationError(
                "no path is called \(path); there are "
                    + HotPath.all.map(\.name).joined(separator: ", ")
            )
        }
        defer { ScratchFolder.removeAll() }
        let prepared = try path.prepare(prepared)
        try prepared.run(count)
    }
}

/// Counts allocations.
struct AllocationsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "allocations",
        abstract: "Count the allocations of every path."
    )

    @Option var count = 20_000
    @Flag(help: "As JSON.")
    var json = false

    func run() throws {
        guard tidemark_allocations_are_counted() else {
            throw ValidationError("allocations are counted on Linux with glibc only")
        }
        defer { ScratchFolder.removeAll() }
        var costs: [Cost] = []
        for path in HotPath.all {
            // What is made once, by the first operations, is no cost of an operation.
            let warmUpCount = 400
            let prepared = try path.prepare(count + warmUpCount)
            try prepared.run(warmUpCount)
            let before = tidemark_allocations_now()
            try prepared.run(count)
            let after = tidemark_allocations_now()
            let made = Double(after.allocationCount - before.allocationCount)
            let bytes = Double(after.requestedByteCount - before.requestedByteCount)
            costs.append(
                Cost(
                    name: path.name,
                    perOperation: made / Double(count),
                    byteCountPerOperation: bytes / Double(count)
                )
            )
        }
        if json {
            print(String(decoding: try JSONEncoder().encode(costs), as: UTF8.self))
        } else {
            for cost in costs {
                print(
                    "\(cost.name): \(cost.perOperation) allocations, "
                        + "\(Int(cost.byteCountPerOperation ?? 0)) bytes an operation"
                )
            }
        }
    }
}

/// Counts instructions, by running this program under valgrind.
struct InstructionsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "instructions",
        abstract: "Count the instructions of every path."
    )

    @Option var count = 2_000
    @Option(help: "Only the paths with this in their name.")
    var only: String?

    func run() throws {
        for path in HotPath.all where only.map(path.name.contains) ?? true {
            // Starting up and preparing cost the same both times, so the difference is the path.
            let nothing = try collected(path.name, count: 0)
            let all = try collected(path.name, count: count)
            print("\(path.name): \((all - nothing) / count) instructions an operation")
        }
    }

    private func collected(_ path: String, count: Int) throws -> Int {
        guard let program = Bundle.main.executablePath else {
            throw ValidationError("this program cannot find itself")
        }
        let process = Process()
        let errors = Pipe()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [
            "valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", program, "run", path,
            "--prepared", String(self.count), "--count", String(count),
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

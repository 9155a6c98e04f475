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

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import CAllocations
import Foundation
import HotPaths

/// Measures what an idle store keeps in memory for each record it holds.
struct IdleHeapCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "idle-heap",
        abstract: "Print the bytes of heap per stored record of a store that was just opened."
    )

    func run() throws {
        guard tidemark_allocations_are_counted() else {
            throw ValidationError("allocations are counted on Linux with glibc only")
        }
        defer { ScratchFolder.removeAll() }
        // What an open store needs whatever it holds is in both, so the difference is the records.
        let few = 20_000
        let many = 220_000
        let heap = try [few, few, many].map(Self.heap)
        print(Double(max(0, heap[2] - heap[1])) / Double(many - few))
    }

    private static func heap(recordCount: Int) throws -> Int {
        let stored = try IdleStore(recordCount: recordCount)
        let before = tidemark_allocations_now().liveByteCount
        return try stored.whileOpen {
            Int(tidemark_allocations_now().liveByteCount - before)
        }
    }
}

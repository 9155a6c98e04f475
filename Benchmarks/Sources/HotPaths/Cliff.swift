// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Tidemark
import TidemarkModel

/// Work whose cost must not follow something that it is not about, measured over a growing input.
package struct Cliff: Sendable {
    /// The work that is measured.
    package let name: String
    /// The input that grows.
    package let input: String
    /// The sizes of that input, growing.
    package let sizes: [Int]
    /// The unit of the figures.
    package let unit: String
    /// The bar: how the cost may follow the input.
    package let bar: String
    /// The figure for an input of a size.
    private let figure: @Sendable (Int) async throws -> Double

    init(
        _ name: String,
        _ input: String,
        _ sizes: [Int],
        unit: String = "µs",
        bar: String,
        _ figure: @escaping @Sendable (Int) async throws -> Double
    ) {
        self.name = name
        self.input = input
        self.sizes = sizes
        self.unit = unit
        self.bar = bar
        self.figure = figure
    }

    /// Measures one size.
    package func measure(_ size: Int) throws -> Double {
        try blocking { [figure] in try await figure(size) }
    }

    /// All of them.
    package static let all: [Cliff] =
        lists + schema + wide + subscribed + open + successive + deletions + removals + differences
        + past + space
}

/// Processor time of all threads, which other processes do not change.
func processorMicroseconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) * 1e6 + Double(time.tv_nsec) / 1e3
}

/// The median processor time of some repetitions, in microseconds.
func median(
    of repetitions: Int,
    _ body: (Int) async throws -> Void
) async throws -> Double {
    var times: [Double] = []
    for repetition in 0..<repetitions {
        let start = processorMicroseconds()
        try await body(repetition)
        times.append(processorMicroseconds() - start)
    }
    return times.sorted()[times.count / 2]
}

/// A store in a folder of its own, removed in the end.
func withStore<Result>(
    _ options: StoreOptions = unsynced,
    _ body: (Store, String) async throws -> Result
) async throws -> Result {
    let folder = try ScratchFolder.make()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let store = try Store.open(at: folder, access: .creating, options: options)
    let result = try await body(store, folder)
    try store.close()
    return result
}

/// Options of a store that waits for no disk.
var unsynced: StoreOptions {
    var options = StoreOptions()
    options.durability = .none
    options.limits.recordsPerPage = 5_000
    return options
}

extension Store {
    /// Saves one small record.
    func saveOne(
        _ name: String,
        type: String = "Note",
        in zone: ZoneID = .default,
        _ caller: Caller = Caller()
    ) async throws {
        let save = RecordSave(
            RecordID(recordName: name, zone: zone),
            type: type,
            fields: try Fields(["n": 1]),
            policy: .replace
        )
        _ = try await modifyRecords(ModifyRecordsRequest(saves: [save]), as: caller).saves[0].get()
    }

    /// Saves small records, 400 in each request.
    func saveNotes(
        _ ids: [RecordID],
        _ number: Int64 = 1,
        as caller: Caller
    ) async throws {
        for start in stride(from: 0, to: ids.count, by: 400) {
            let saves = try ids[start..<min(start + 400, ids.count)].map { id in
                RecordSave(
                    id,
                    type: "Note",
                    fields: try Fields(["n": .int64(number)]),
                    policy: .replace
                )
            }
            let result = try await modifyRecords(ModifyRecordsRequest(saves: saves), as: caller)
            for outcome in result.saves { _ = try outcome.get() }
        }
    }
}

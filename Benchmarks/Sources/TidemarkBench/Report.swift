// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Contenders
import Foundation

/// All that a run found.
struct Report: Encodable {
    let machine: Machine
    let versions: Versions
    let durability: String
    /// The scale's name.
    let scale: String
    /// What was set about each engine for each work.
    let conditions: [String: [String: String]]
    /// Of this run, on the same file system: the median of a small write and its sync.
    var fdatasyncMicroseconds: Double?
    var results: [Measurement]
    /// What the hot paths ask of malloc; empty where nothing is counted.
    var allocations: [Cost] = []

    /// What one operation of a path costs, as the driver prints it.
    struct Cost: Codable {
        var name: String
        var perOperation: Double
        var byteCountPerOperation: Double?
    }

    mutating func readAllocations() {
        guard let text = Tool.drive("allocations", "--json", "--count", "4000") else { return }
        allocations = (try? JSONDecoder().decode([Cost].self, from: Data(text.utf8))) ?? []
    }

    /// Puts the figures of all repetitions, by measurement and engine, into the table.
    mutating func fill(_ samples: Samples) {
        let sync = (samples.values[Name.sync] ?? [:]).values.flatMap { $0 }
        fdatasyncMicroseconds = sync.isEmpty ? nil : sync.median
        for index in results.indices {
            var line = results[index]
            for (engine, values) in samples.values[line.name] ?? [:] {
                line.medians[engine] = line.showsWorst ? values.max() : values.median
                line.spreads[engine] = [values.min() ?? 0, values.max() ?? 0]
            }
            line.floor = samples.floors[line.name]
            line.disturbance = samples.disturbances[line.name]?.median
            // The probes of all engines' turns: an engine that is still at work slows its own.
            line.met = line.bar.isMet(
                tidemark: line.medians["tidemark"],
                sqlite: line.medians["sqlite"],
                sync: fdatasyncMicroseconds
            )
            results[index] = line
        }
    }

    func json() throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return try encoder.encode(self) + [UInt8(ascii: "\n")]
    }

    private var allocationLines: String {
        guard !allocations.isEmpty else { return "allocations: not counted" }
        let costs = allocations.map { "\($0.name) \($0.perOperation.short)" }
        return "allocations an operation: " + costs.joined(separator: ", ")
    }

    /// The same for people.
    var table: String {
        var rows = [
            [
                "work", "unit", "tidemark", "sqlite", "rowid", "rocksdb", "ratio", "rowid ratio",
                "floor", "switches", "stolen ms", "distance ns", "bar", "met",
            ]
        ]
        for line in results where !line.medians.isEmpty {
            func cell(_ figure: Double?) -> String { figure?.short ?? "–" }
            let figures = ["tidemark", "sqlite", "sqliteRowid", "rocksdb"].map {
                cell(line.medians[$0])
            }
            let ratios = ["sqlite", "sqliteRowid"].map { cell(line.ratio(to: $0)) }
            let met = line.met.map { $0 ? "yes" : "NO" } ?? "–"
            rows.append(
                [line.name, line.unit] + figures + ratios + [
                    cell(line.floor), cell(line.disturbance?.involuntarySwitchCount),
                    cell(line.disturbance?.stolenMilliseconds),
                    cell(line.disturbance?.distanceNanoseconds), line.bar.text(line.unit), met,
                ]
            )
        }
        let widths = rows[0].indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
        let lines = rows.map { row in
            zip(row.indices, row).map { column, cell in
                let padding = String(repeating: " ", count: widths[column] - cell.count)
                // Figures stand on the right.
                return (2...11).contains(column) ? padding + cell : cell + padding
            }.joined(separator: "  ")
        }
        let place =
            "\(machine.processor), \(machine.coreCount) cores, "
            + "\(machine.memoryGiB.short) GiB, \(machine.kernel), \(machine.fileSystem), "
            + "load \(machine.loadBefore.short) at the start"
        let sync = fdatasyncMicroseconds.map { "p50 \($0.short) µs" } ?? "not measured"
        return """
            \(lines.joined(separator: "\n"))

            \(place)
            durability: \(durability); fdatasync \(sync)
            ratio: tidemark's figure divided by SQLite's in the layout that is fastest for the work
            rowid: SQLite with a rowid table for every work
            floor: what the parts that cannot be left out took alone
            scheduling: \(machine.scheduling)
            switches, stolen ms: involuntary context switches of Tidemark's repetitions, and processor time
            that the host gave to others meanwhile; medians
            distance ns: the time for a cache line to go from one processor to another and back, before or after
            these repetitions; below 100 while they share a cache, above 300 while they do not
            \(allocationLines)
            """
    }
}

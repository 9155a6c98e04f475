// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Contenders
import Foundation
import Workload

/// Everybody who takes part, in the order of the first turn.
let contenders: [any Contender.Type] = [
    TidemarkContender.self, SQLiteContender<FastestLayout>.self,
    SQLiteContender<RowidLayout>.self, RocksDBContender.self,
]

/// The side-by-side measurements.
@main
struct TidemarkBench: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tidemark-bench",
        abstract: "Does the same work with Tidemark, SQLite and RocksDB, in one run.",
        subcommands: [RunCommand.self, LayoutsCommand.self, ChildCommand.self],
        defaultSubcommand: RunCommand.self
    )
}

/// Measures everything and prints the table.
struct RunCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "run", abstract: "Measure.")

    @Flag(help: "Smaller stores and fewer repetitions: about three minutes.")
    var quick = false
    @Flag(help: "Hardly any work at all, to see that everything runs.")
    var smoke = false
    @Option(help: "Also write the figures to this file.")
    var json: String?
    @Option(help: "Only the works whose title has this in it.")
    var only: String?
    @Option(help: "Also write a plot of the figures by the length of the log to this file, as SVG.")
    var curves: String?
    @Flag(help: "Leave the stores where they are, to look into them.")
    var keep = false
    @Option(help: "An empty folder for the stores, on the disk that is to be measured.")
    var folder: String = FileManager.default.currentDirectoryPath + "/.build/bench-stores"
    @Option(help: "The project's folder.")
    var project: String = FileManager.default.currentDirectoryPath

    func run() async throws {
        let scale: Scale = smoke ? .smoke : quick ? .quick : .full
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let rounds = Rounds(
            scale: scale,
            folder: folder,
            historyPath: RealHistory.path(beside: project),
            keepsStores: keep
        )
        var report = Report(
            machine: Machine(folder),
            versions: Versions(project: project),
            durability: "full: fdatasync before every answer, for every engine",
            scale: smoke ? "smoke" : quick ? "quick" : "full",
            conditions: conditions(),
            results: Measurement.all(scale)
        )
        var samples = Samples()
        var suites: [Suite] = [
            .oneWriter, .manyWriters, .insertBatches, .updateBatches, .unchangedBatches,
            .subscribed, .whileCompacting, .firstSync, .firstSyncAfterUpdates,
        ]
        suites += scale.eventCounts.map { .longLog(eventCount: $0) }
        suites += [.queries, .sharing, .history]
        for suite in suites where only.map(suite.title.contains) ?? true {
            FileHandle.standardError.write(Data("… \(suite.title)\n".utf8))
            samples.merge(try await rounds.measure(suite))
        }
        if only == nil, let heap = Tool.drive("idle-heap").flatMap(Double.init) {
            samples.add(heap, as: Name.heap)
        }
        report.fill(samples)
        if only == nil { report.readAllocations() }
        print(report.table)
        if let curves {
            let plot = Curves(report.results, eventCounts: scale.eventCounts)
            try Data(plot.svg.utf8).write(to: URL(fileURLWithPath: curves))
        }
        if let json { try report.json().write(to: URL(fileURLWithPath: json)) }
    }

    private func conditions() -> [String: [String: String]] {
        var conditions: [String: [String: String]] = [:]
        for contender in contenders {
            for work in Work.allCases {
                conditions[contender.name, default: [:]][work.rawValue] =
                    contender.conditions(for: work)
            }
        }
        return conditions
    }
}

/// One repetition of a work by one engine.
struct Turn {
    var values: [String: Double]
    var disturbance: Disturbance

    var isDisturbed: Bool { disturbance.isLarge }
}

/// The figures of all repetitions.
struct Samples {
    /// By measurement and engine.
    private(set) var values: [String: [String: [Double]]] = [:]
    /// Of Tidemark's repetitions, by measurement.
    private(set) var disturbances: [String: [Disturbance]] = [:]
    /// By measurement.
    private(set) var floors: [String: Double] = [:]

    /// Adds what one turn measured.
    mutating func add(_ turn: Turn, of engine: String) {
        for (name, value) in turn.values {
            values[name, default: [:]][engine, default: []].append(value)
            if engine == TidemarkContender.name {
                disturbances[name, default: []].append(turn.disturbance)
            }
        }
    }

    /// Adds the floors under works.
    mutating func add(floors: [String: Double]) { self.floors.merge(floors) { $1 } }

    /// Adds a figure that was measured outside the turns.
    mutating func add(_ value: Double, as name: String) {
        values[name] = [TidemarkContender.name: [value]]
    }

    /// Adds the figures of other works.
    mutating func merge(_ other: Samples) {
        values.merge(other.values) { $0.merging($1) { $0 + $1 } }
        disturbances.merge(other.disturbances) { $0 + $1 }
        add(floors: other.floors)
    }
}

/// Lets the engines take turns at a work.
struct Rounds {
    let scale: Scale
    let folder: String
    let historyPath: String?
    let keepsStores: Bool
    private let pages = PageSource()

    init(scale: Scale, folder: String, historyPath: String?, keepsStores: Bool) {
        self.keepsStores = keepsStores
        self.scale = scale
        self.folder = folder
        self.historyPath = historyPath
    }

    private static func turn(of trial: any Trial, _ repetition: Int) async throws -> Turn {
        let probe = DisturbanceProbe()
        let values = try await trial.measure(repetition)
        return Turn(values: values, disturbance: probe.sinceStart)
    }

    /// Measures a work; disturbed repetitions are repeated, at most as often as there were to be.
    func measure(_ suite: Suite) async throws -> Samples {
        let history = suite == .history ? try RealHistory.read(historyPath) : []
        var trials: [(engine: String, trial: any Trial)] = []
        var folders: [String] = []
        defer {
            if !keepsStores {
                for folder in folders { try? FileManager.default.removeItem(atPath: folder) }
            }
        }
        for contender in contenders {
            let own = folder + "/\(contender.name)-\(UUID())"
            try FileManager.default.createDirectory(
                atPath: own,
                withIntermediateDirectories: true
            )
            folders.append(own)
            var setting = Setting(scale: scale, pages: pages, folder: own)
            setting.history = history
            if case .longLog(let eventCount) = suite { setting.eventCount = eventCount }
            trials.append((contender.name, try await suite.trial(contender, setting)))
        }
        var turns = trials.map { _ in [Turn]() }
        let count = suite.repetitionCount(scale)
        for repetition in 0..<count {
            for turn in trials.indices {
                // Another engine goes first each time.
                let index = (turn + repetition) % trials.count
                turns[index].append(try await Self.turn(of: trials[index].trial, repetition))
            }
        }
        if suite.repeatsDisturbed {
            for repetition in count..<2 * count {
                for index in trials.indices where turns[index].contains(where: \.isDisturbed) {
                    turns[index].append(try await Self.turn(of: trials[index].trial, repetition))
                    turns[index].sort { $0.disturbance.weight < $1.disturbance.weight }
                    let dropped = turns[index].removeLast()
                    // Some figures are of the first repetition alone, and stay.
                    let kept = Set(turns[index].flatMap(\.values.keys))
                    turns[index][0].values
                        .merge(dropped.values.filter { !kept.contains($0.key) }) { old, _ in old }
                }
            }
        }
        var samples = Samples()
        for (index, (engine, _)) in trials.enumerated() {
            for turn in turns[index] { samples.add(turn, of: engine) }
        }
        for (_, trial) in trials {
            samples.add(floors: try await trial.floors())
            try await trial.end()
        }
        return samples
    }
}

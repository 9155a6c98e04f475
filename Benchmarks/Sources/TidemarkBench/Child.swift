// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Contenders
import Foundation
import Workload

/// What a child measured of itself.
struct ChildReport: Codable {
    var milliseconds: Double
    /// The most memory the process had, its code and libraries included.
    var peakMiB: Double
    /// The speed of a replay.
    var eventsPerSecond: Double?
}

/// Runs this program again as another process, for what only a fresh or a dying one can show.
enum Child {
    static func run(
        _ task: String,
        engine: String,
        store: String,
        _ arguments: [String] = [],
        onOneProcessor: Bool = false
    ) throws -> ChildReport {
        let (process, output) = try start(
            task,
            engine: engine,
            store: store,
            arguments,
            onOneProcessor: onOneProcessor
        )
        let bytes = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw WrongAnswer(
                "\(engine) \(task): the child ended with \(process.terminationStatus)"
            )
        }
        return try JSONDecoder().decode(ChildReport.self, from: bytes)
    }

    /// Kills a writing child once it has said that so many commits are durable.
    static func writeAndKill(
        engine: String,
        store: String,
        _ arguments: [String],
        afterCommits count: Int
    ) throws {
        let (process, output) = try start("write", engine: engine, store: store, arguments)
        var said = 0
        while said < count {
            let bytes = output.fileHandleForReading.availableData
            guard !bytes.isEmpty else { throw WrongAnswer("\(engine): the writer ended by itself") }
            said += bytes.count
        }
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }

    private static func start(
        _ task: String,
        engine: String,
        store: String,
        _ arguments: [String],
        onOneProcessor: Bool = false
    ) throws -> (Process, Pipe) {
        let process = Process()
        let output = Pipe()
        guard let program = Bundle.main.executablePath else {
            throw WrongAnswer("this program cannot find itself")
        }
        var command = [program, "child", task, "--engine", engine, "--store", store] + arguments
        if onOneProcessor { command = ["taskset", "--cpu-list", "0"] + command }
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = command
        process.standardOutput = output
        try process.run()
        return (process, output)
    }
}

/// The tasks that run in a process of their own.
struct ChildCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "child",
        shouldDisplay: false,
        subcommands: [OpenChild.self, DeltaChild.self, WriteChild.self, ReplayChild.self]
    )
}

struct ChildOptions: ParsableArguments {
    @Option var engine: String
    @Option var store: String

    var contender: any Contender.Type {
        get throws {
            guard let found = contenders.first(where: { $0.name == engine }) else {
                throw ValidationError("no contender is called \(engine)")
            }
            return found
        }
    }
}

/// Opens a store, reads one record, and reports.
///
/// An engine that opens lazily pays at the record.
struct OpenChild: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "open")
    @OptionGroup var options: ChildOptions

    func run() async throws { try await open(options.contender) }

    private func open<Engine: Contender>(_ engine: Engine.Type) async throws {
        let start = ContinuousClock.now
        let store = try await engine.open(options.store, for: .smallDelta, durability: .full)
        let page = try await store.page(of: Change(zone: 7, number: 33))
        let milliseconds = start.microsecondsUntilNow / 1000
        guard page != nil else { throw WrongAnswer("the record is not there") }
        try ChildReport(milliseconds: milliseconds, peakMiB: Memory.peakMiB()).print()
    }
}

/// Opens a store, and times the first delta it is asked for.
struct DeltaChild: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "delta")
    @OptionGroup var options: ChildOptions
    @Option var zone: Int
    @Option var position: String

    func run() async throws { try await read(options.contender) }

    private func read<Engine: Contender>(_ engine: Engine.Type) async throws {
        let store = try await engine.open(options.store, for: .smallDelta, durability: .full)
        let sink = Sink()
        let start = ContinuousClock.now
        try await store.readChanges(zone: zone, since: position, into: sink)
        let milliseconds = start.microsecondsUntilNow / 1000
        guard sink.recordCount >= 100 else { throw WrongAnswer("\(sink.recordCount) changes") }
        try ChildReport(milliseconds: milliseconds, peakMiB: Memory.peakMiB()).print()
    }
}

/// Computes all views from the log.
struct ReplayChild: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "replay")
    @OptionGroup var options: ChildOptions

    func run() async throws {
        let start = ContinuousClock.now
        let speed = try await options.contender.replay(options.store)
        try ChildReport(
            milliseconds: start.microsecondsUntilNow / 1000,
            peakMiB: Memory.peakMiB(),
            eventsPerSecond: speed
        ).print()
    }
}

/// Saves batches of 400 random updates until it is killed; one byte for each durable commit.
struct WriteChild: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "write")
    @OptionGroup var options: ChildOptions
    @Option var zones: Int
    @Option var records: Int
    @Option var version: Int

    func run() async throws { try await write(options.contender) }

    private func write<Engine: Contender>(_ engine: Engine.Type) async throws {
        let store = try await engine.open(options.store, for: .smallDelta, durability: .full)
        let pages = PageSource()
        let history = History(zoneCount: zones, recordCount: records, roundCount: 1)
        for commit in 0... {
            let zone = commit % zones
            let count = history.recordCount(ofZone: zone)
            let order = Shuffle(count: count, seed: version &* 1_000_000 &+ commit)
            let changes = (0..<min(400, count)).map {
                Change(zone: zone, number: order[$0], version: version)
            }
            try await store.save(store.prepare(Batch(changes, isInsert: false), pages))
            try FileHandle.standardOutput.write(contentsOf: [UInt8(ascii: ".")])
        }
    }
}

extension ChildReport {
    /// Writes the report and ends the process as it stands: no store is closed.
    func print() throws {
        try FileHandle.standardOutput.write(contentsOf: JSONEncoder().encode(self))
        _exit(0)
    }
}

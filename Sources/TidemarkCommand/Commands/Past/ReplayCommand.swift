// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tidemark
import TidemarkLog
import TidemarkModel
import TidemarkReplay

/// `tidemark replay`: the views computed again from the log, or the log step by step.
struct ReplayCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "replay",
        abstract: "Rebuild all views from the log, to compare them or to step through events.",
        discussion: """
              tidemark replay notes.tide --verify
              tidemark replay notes.tide --step --from 1042
              printf 'n\\nn\\np\\n' | tidemark replay notes.tide --step --json

            Folds the log from its beginning in memory, and prints the resulting zones. --verify \
            compares the result with the views on disk, zone by zone; the status is 1 if they \
            differ.

            --step shows the log event by event, each with its record before and after. Commands \
            are read from standard input, one per line: n or an empty line for the next event, p \
            for the previous one, g and a sequence number to go there, q to quit.
            """
    )

    @OptionGroup var store: StoreArgument

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "The first point to step from: \(Point.explanation).",
            valueName: "point"
        ),
        transform: { text in try Point(text) }
    )
    var from: Point?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("The last point; the end of the log, unless given.", valueName: "point"),
        transform: { text in try Point(text) }
    )
    var to: Point?

    @Flag(help: "Step through events, forward and back.")
    var step = false

    @Flag(help: "Compare with the views on disk.")
    var verify = false

    @OptionGroup var options: OutputOptions

    func validate() throws {
        if step, verify {
            throw ValidationError("--step shows events, --verify compares views: give one of them.")
        }
        if from != nil, !step {
            throw ValidationError("A replay begins with the log; --from is for --step.")
        }
        if to != nil, verify {
            throw ValidationError(
                "--verify ends where the views on disk are exact: leave out --to."
            )
        }
    }

    func run() async throws {
        if step {
            try await store.read { store in try await walk(store) }
        } else {
            let position = try await end()
            try replay(through: position)
        }
    }

    /// Returns the position of --to, which must not be below the history horizon.
    private func end() async throws -> SequenceNumber? {
        guard let to else { return nil }
        let position = try to.position(inStoreAt: store.folder)
        let store = try store.open(.reading)
        defer { try? store.close() }
        try store.check(position)
        return position
    }
}

// MARK: - Views

extension ReplayCommand {
    private func replay(through position: SequenceNumber?) throws {
        let (reader, begun) =
            verify
            ? try ViewsCheck.begin(at: store.folder)
            : (try LogReader(store.folder, fileSystem: PosixFileSystem()), nil as ViewsCheck?)
        var check = begun
        // If the views cannot be compared, the log is replayed all the same, and the outcome says
        // why.
        let isComparing = check?.isComparing == true
        let end = isComparing ? check?.checkpoint : position
        // The views are compared as of their checkpoint, which may be behind the end of the log.
        let last = min(end ?? reader.durableSequence, reader.durableSequence)
        var folded = FoldedViews(reader)
        let clock = ContinuousClock()
        let start = clock.now
        let count: Int
        let findings: [LogError]
        let views: ReplayedViews
        do {
            count = try scan(reader, through: last) { event in
                if isComparing { try check?.add(event) } else { try folded.add(event) }
            }
            findings = try check?.finish(isLogSound: reader.damage.isEmpty) ?? []
            views = try check?.expected ?? folded.finish()
        } catch FoldedViews.Failure.views(let message) {
            // If parts of the log are missing, the rest is inconsistent, so report the missing
            // parts instead.
            try finish(reader)
            throw CommandError(message)
        } catch FoldedViews.Failure.event(let error) {
            throw error
        }
        let elapsed = clock.now - start
        let zones = try views.zones()
        try options.print(zones, in: ReplayedZone.table) { line, zone in
            line.append(json: zone)
        } row: { zone in
            zone.row
        }
        let differing = zones.count { $0.isSame == false }
        var output = StandardOutput()
        let summary = ReplaySummary(
            eventCount: count,
            last: last,
            elapsed: elapsed,
            differingZoneCount: differing,
            findingCount: findings.count,
            views: check?.outcome
        )
        try output.print(summary, options)
        try output.flush()
        try finish(reader, and: findings)
        if differing > 0 { throw ExitCode.failure }
    }

    /// Visits the events up to a position, and shows how far that is; returns how many there were.
    private func scan(
        _ reader: LogReader,
        through last: SequenceNumber,
        _ visit: (LogEvent) throws -> Void
    ) throws -> Int {
        var progress = Progress()
        defer { progress.finish() }
        var count = 0
        var failure: (any Error)?
        try reader.scan(from: SequenceNumber(rawValue: 1), through: last) { event in
            do {
                try visit(event)
            } catch {
                failure = error
                return false
            }
            count += 1
            // Not for every event, because an update reads the clock.
            if count & 0xFFFF == 0 {
                let part = Double(event.sequence.rawValue) / Double(last.rawValue)
                progress.update(part: part, "\(count) events")
            }
            return true
        }
        if let failure { throw failure }
        return count
    }
}

// MARK: - Steps

extension ReplayCommand {
    private func walk(_ store: Store) async throws {
        var steps = try await store.steps(
            from: try start(in: store),
            through: try to?.position(in: store)
        )
        var printer = StepPrinter(try store.eventSource, options)
        try printer.print(try await steps.next(), orSay: "There is no event here.")
        while let command = StepCommand.read(isAsking: printer.isAsking) {
            switch command {
            case .next:
                try printer.print(try await steps.next(), orSay: "That was the last event.")
            case .previous:
                try printer.print(try await steps.previous(), orSay: "That was the first event.")
            case .go(let position):
                try printer.print(
                    try await steps.go(to: position),
                    orSay: "There is no event \(position), and none after it."
                )
            case .quit:
                return
            case .unknown(let text):
                note(
                    "'\(text.printable)' is not a step. Write n or nothing for the next event, "
                        + "p for the previous one, g and a sequence number to go there, q to end."
                )
            }
        }
    }

    /// The first event to show: one that is named, or the first after a time or a token.
    private func start(in store: Store) throws -> SequenceNumber {
        switch from {
        case nil: SequenceNumber(rawValue: 1)
        case .sequence(let number): SequenceNumber(rawValue: number)
        case .back: try from?.position(in: store) ?? .zero
        // A point in time and a token include everything up to them, so what follows begins one
        // later.
        case .time, .token: try (from?.position(in: store) ?? .zero).next
        }
    }
}

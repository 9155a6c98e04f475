// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TidemarkAdministration
import TidemarkLog
import TidemarkModel

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

    @Option(point: "The first point to step from: \(Point.explanation).")
    var from: Point?

    @Option(point: "The last point; the end of the log, unless given.")
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
            try await store.ask { service in try await walk(by: service) }
        } else {
            let service = try store.serviceOfFiles()
            let call = ReplayCall(through: try await end(by: service), comparesViews: verify)
            try print(
                try await Progress.showing("events") { report in
                    try await service.answer(call, report: report)
                }
            )
        }
    }

    /// Returns the position of --to.
    private func end(by service: any AdministrationService) async throws -> SequenceNumber? {
        // Files alone answer no call about positions.
        if service is StoreAdministration { return try to?.position(inStoreAt: store.store) }
        return try await to?.position(by: service)
    }

    private func print(_ replay: ReplayCall.Answer) throws {
        if let failure = replay.failure {
            // If parts of the log are missing, the rest is inconsistent, so report the missing
            // parts instead.
            noteTornTail(replay.tornByteCount)
            try finish(replay.damage)
            throw CommandError(failure)
        }
        try options.print(replay.zones, in: ReplayCall.Zone.table) { line, zone in
            line.append(json: zone)
        } row: { zone in
            zone.row
        }
        try options.print(
            json: { $0.append(json: replay.figures) },
            lines: { _ in replay.lines }
        )
        noteTornTail(replay.tornByteCount)
        try finish(replay.damage + replay.findings)
        if replay.differingZoneCount > 0 { throw ExitCode.failure }
    }
}

// MARK: - Steps

extension ReplayCommand {
    /// The place of a walk along the log.
    private enum Place {
        case beforeAll
        case at(SequenceNumber)
        case afterAll
    }

    private func walk(by service: any AdministrationService) async throws {
        let first = try await start(by: service)
        let last = try await to?.position(by: service)
        var printer = StepPrinter(options)
        var place = Place.beforeAll
        func find(
            _ position: SequenceNumber,
            back: Bool = false
        ) async throws -> StepCall.Answer {
            let call = StepCall(to: position, goesBack: back, from: first, through: last)
            let found = try await service.answer(call)
            let end = back ? Place.beforeAll : .afterAll
            place = found.event.map { Place.at($0.sequence) } ?? end
            return found
        }
        try printer.print(try await find(first), orSay: "There is no event here.")
        while let command = StepCommand.read(isAsking: printer.isAsking) {
            switch command {
            case .next:
                let found: StepCall.Answer? =
                    switch place {
                    case .beforeAll: try await find(first)
                    case .at(let position): try await find(position.next)
                    case .afterAll: nil
                    }
                try printer.print(found, orSay: "That was the last event.")
            case .previous:
                let found: StepCall.Answer? =
                    switch place {
                    case .beforeAll: nil
                    case .at(let position): try await find(position, back: true)
                    case .afterAll: try await find(SequenceNumber(rawValue: .max), back: true)
                    }
                try printer.print(found, orSay: "That was the first event.")
            case .go(let position):
                try printer.print(
                    try await find(position),
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
    private func start(by service: any AdministrationService) async throws -> SequenceNumber {
        switch from {
        case nil: SequenceNumber(rawValue: 1)
        case .sequence(let number): SequenceNumber(rawValue: number)
        case .back: try await from?.position(by: service) ?? .zero
        // A point in time and a token include everything up to them, so what follows begins one
        // later.
        case .time, .token: try await (from?.position(by: service) ?? .zero).next
        }
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tidemark
import TidemarkAdministration
import TidemarkEvents
import TidemarkLog
import TidemarkModel
import TidemarkReplay

/// `tidemark bisect`: the first event at which something is bad.
struct BisectCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bisect",
        abstract: "Find the first event after which a predicate or command reports a bad state.",
        discussion: """
              tidemark bisect notes.tide --bad 'count < 0' --type Item
              tidemark bisect notes.tide --bad "recordID == 'milk' AND count < 0" --zone lists
              tidemark bisect notes.tide --zone lists --run 'test $(wc -l) -lt 100'

            With --bad, finds the event after which a record first matched a predicate \
            (Docs/queries.md). The log is read once, which also shows whether the match ended and \
            began again. A record type or field that does not exist is an error.

            With --run, a shell command gets the records as of a position on standard input, one \
            per line as `export` prints them. Its status is the verdict: 0 is good, 1 to 124 bad, \
            125 unknown. --from must be good and --to bad. About log2(n) positions between them \
            are tested, and a few more to check that the state changes only once.

            The status is 1 if nothing was found.
            """
    )

    @OptionGroup var store: StoreArgument

    @Option(
        help: ArgumentHelp("The predicate that a bad record matches.", valueName: "predicate"),
        transform: readPredicate
    )
    var bad: Query.Predicate?

    @Option(
        name: .customLong("run"),
        help: ArgumentHelp(
            "The shell command that tests a state: status 0 is good, 1 to 124 bad, 125 unknown.",
            valueName: "command"
        )
    )
    var command: String?

    @Option(help: ArgumentHelp("With --bad, only records of this type.", valueName: "name"))
    var type: String?

    @Option(help: ArgumentHelp("Only the records of this zone.", valueName: "name"))
    var zone: String?

    @Option(
        point: """
            A good point: \(Point.explanation). The empty store, or where the history that is kept \
            begins, unless given.
            """
    )
    var from: Point?

    @Option(point: "A bad point; now, unless given.")
    var to: Point?

    @OptionGroup var database: DatabaseOptions
    @OptionGroup var options: OutputOptions

    func validate() throws {
        if (bad == nil) == (command == nil) {
            throw ValidationError("Give either --bad and a predicate, or --run and a command.")
        }
        if command != nil, type != nil {
            throw ValidationError("--type can be combined only with --bad.")
        }
    }

    func run() async throws {
        try await store.ask { service in
            let (first, last) = try await points(by: service)
            let finding =
                if let bad {
                    try await find(bad, by: service, first, last)
                } else {
                    try await findByCommand(service, first, last)
                }
            try await print(finding, by: service)
        }
    }

    /// The first and the last position.
    private func points(
        by service: any AdministrationService
    ) async throws -> (SequenceNumber, SequenceNumber) {
        let log = try await service.answer(PositionCall())
        let first = try await from?.position(by: service) ?? log.horizon
        let last = try await to?.position(by: service) ?? log.newest
        guard first < last else {
            throw CommandError(
                "Event \(first), after which the search begins, is not before event \(last), where it "
                    + "ends. Give points in their order, with events between them."
            )
        }
        return (first, last)
    }

    /// Returns the advice for a first point that is not good.
    private func beginning(_ first: SequenceNumber, isEarlier: Bool) -> String {
        if from == nil, first > .zero { return "The history that is kept begins there." }
        if isEarlier { return "Begin earlier." }
        let empty = first == .zero ? " The store was empty then." : ""
        return "Begin at a point where it is, with --from.\(empty)"
    }

    private var zoneID: ZoneID? { zone.map { ZoneID(zoneName: $0) } }
}

/// The result of a bisection.
private struct BisectFinding {
    /// The first bad position.
    var bad: SequenceNumber
    /// The last good position before it, if not the one right before.
    var good: SequenceNumber?
    /// A position that shows that good and bad do not come in one piece each, if one is known.
    var contradiction: SequenceNumber?
    /// The number of positions that were tested; `nil` if the whole log was read.
    var probeCount: Int?
}

// MARK: - By a predicate

extension BisectCommand {
    private func find(
        _ predicate: Query.Predicate,
        by service: any AdministrationService,
        _ first: SequenceNumber,
        _ last: SequenceNumber
    ) async throws -> BisectFinding {
        let call = BisectionCall(
            for: predicate,
            type: type,
            in: try database.holder,
            zone: zoneID,
            after: first,
            through: last
        )
        let holding = try await service.answer(call)
        if holding.heldAtFirst {
            throw CommandError(
                "The state is already bad as of event \(first): a record matches the predicate. "
                    + beginning(first, isEarlier: true)
            )
        }
        guard let began = holding.began else {
            throw CommandError(
                "No record matches the predicate at any point after event \(first) up to event "
                    + "\(last)."
            )
        }
        return BisectFinding(bad: began, contradiction: holding.ended)
    }
}

// MARK: - By a command

extension BisectCommand {
    private func findByCommand(
        _ service: any AdministrationService,
        _ first: SequenceNumber,
        _ last: SequenceNumber
    ) async throws -> BisectFinding {
        // Both ends are tested first. Between two ends of the same verdict, the search would find a
        // position that means nothing.
        let end = try await probe(last, by: service)
        guard end == .bad else {
            try await checkZone(at: first, last, by: service)
            let found = end == .good ? "It is not bad" : "The command cannot tell whether it is bad"
            throw CommandError("\(found) as of event \(last). End at a point where it is.")
        }
        let start = try await probe(first, by: service)
        guard start == .good else {
            try await checkZone(at: first, last, by: service)
            let found =
                start == .bad ? "It is not good" : "The command cannot tell whether it is good"
            throw CommandError(
                "\(found) as of event \(first). \(beginning(first, isEarlier: false))"
            )
        }
        var bisection = Bisection(good: first, bad: last)
        while let position = bisection.next {
            guard let place = try await place(for: position, in: bisection, service) else {
                bisection.pass(over: position)
                continue
            }
            bisection.note(try await probe(place, by: service), at: place)
        }
        let contradiction = try await contradiction(to: bisection, first, last, service)
        return BisectFinding(
            bad: bisection.bad,
            good: bisection.isExact ? nil : bisection.good,
            contradiction: contradiction.position,
            probeCount: bisection.probeCount + 2 + contradiction.probeCount
        )
    }

    /// Returns the place to test for a position; `nil` if the position is known to be undecidable.
    ///
    /// No client ever sees the store inside a commit, where a rule may be broken that holds before
    /// and after. So commits are tested at their ends, and only the events of the first bad commit
    /// are tested one by one.
    private func place(
        for position: SequenceNumber,
        in bisection: Bisection,
        _ service: any AdministrationService
    ) async throws -> SequenceNumber? {
        let commit = try await service.answer(CommitCall(at: position))
        guard let start = commit.first, let end = commit.last else { return position }
        let ends = [end, start.previous]
            .filter { $0 > bisection.good && $0 < bisection.bad }
        // Both ends are decided, so the search is within the first bad commit and tests single
        // events.
        if ends.isEmpty { return position }
        return ends.first { !bisection.isPassed($0) }
    }

    /// Tests the quarters of the stretches before and after the first bad position.
    private func contradiction(
        to bisection: Bisection,
        _ first: SequenceNumber,
        _ last: SequenceNumber,
        _ service: any AdministrationService
    ) async throws -> (position: SequenceNumber?, probeCount: Int) {
        var probeCount = 0
        for (start, end, expected) in [
            (first, bisection.good, Bisection.Verdict.good), (bisection.bad, last, .bad),
        ] {
            let width = end.rawValue - start.rawValue
            // At most six more tests. They do not prove that the state changed once, but often find
            // that it did not.
            for quarter in 1...3 as ClosedRange<UInt64> where width >= 4 {
                let position = try await commitEnd(
                    atOrBefore: SequenceNumber(rawValue: start.rawValue + width / 4 * quarter),
                    by: service
                )
                // The rest of the first bad commit may break other rules.
                if position <= start { continue }
                probeCount += 1
                let verdict = try await probe(position, by: service)
                if verdict != expected, verdict != .unknown { return (position, probeCount) }
            }
        }
        return (nil, probeCount)
    }

    /// Returns the last end of a commit at or before a position.
    private func commitEnd(
        atOrBefore position: SequenceNumber,
        by service: any AdministrationService
    ) async throws -> SequenceNumber {
        let commit = try await service.answer(CommitCall(at: position))
        guard let start = commit.first, let end = commit.last, position < end else {
            return position
        }
        return start.previous
    }

    /// Throws if neither end has the zone.
    ///
    /// The command was then given no records at both, and its verdict says nothing about the zone.
    private func checkZone(
        at first: SequenceNumber,
        _ last: SequenceNumber,
        by service: any AdministrationService
    ) async throws {
        guard let zone else { return }
        for position in [last, first] {
            let call = RecordsCall(of: try database.holder, in: zoneID, asOf: position)
            do {
                _ = try await service.answer(call) { _ in }
                return
            } catch let error as SyncError where error.code == .zoneNotFound {
                continue
            }
        }
        throw CommandError(
            "There is no zone \(zone) as of event \(first) or event \(last). "
                .printable + "`tidemark zones list \(store.store)` lists zones.".printable
        )
    }

    private func probe(
        _ position: SequenceNumber,
        by service: any AdministrationService
    ) async throws -> Bisection.Verdict {
        let call = RecordsCall(of: try database.holder, in: zoneID, asOf: position)
        return try await StateJudge(command: command ?? "").judge { descriptor in
            var output = StandardOutput(descriptor: descriptor)
            do {
                _ = try await service.answer(call) { record in
                    try output.line { $0.append(json: record) }
                }
            } catch let error as SyncError where error.code == .zoneNotFound {
                // Before a zone began it had no records.
            }
            try output.flush()
        }
    }
}

// MARK: - Output

extension BisectCommand {
    private func print(
        _ finding: BisectFinding,
        by service: any AdministrationService
    ) async throws {
        var call = EventsCall()
        call.first = finding.bad
        call.last = finding.bad
        // Events of the server's own container are shown only where it is named.
        if try database.holder.container == .server { call.filter.container = .server }
        var found: LoggedEvent?
        _ = try await service.answer(call) { found = $0 }
        guard let event = found else {
            throw CommandError(
                "Event \(finding.bad) cannot be read. `tidemark log verify` reports the damage."
            )
        }
        try options.print(
            json: { $0.append(json: finding, event) },
            lines: { ink in finding.lines(event, ink) }
        )
    }
}

extension BisectFinding {
    fileprivate func lines(_ event: LoggedEvent, _ ink: Ink) -> [String] {
        var lines: [String] = []
        if let good {
            lines.append(
                "The first bad event is one of those after \(good) up to \(bad): of the others"
            )
            lines.append("the command could not tell.")
        } else {
            lines.append("The first bad event:")
        }
        lines.append(ink.text(event.text, .heading))
        if let contradiction {
            lines.append(
                "Good and bad do not come in one piece each: see event \(contradiction). There "
                    + "may be other first events."
            )
        }
        if let probeCount { lines.append("Looked at \(probeCount) positions.") }
        return lines
    }
}

extension [UInt8] {
    fileprivate mutating func append(
        json finding: BisectFinding,
        _ event: LoggedEvent
    ) {
        append(literal: "{")
        append(member: "bad", jsonNumber: finding.bad.rawValue)
        append(member: "good", jsonNumber: finding.good?.rawValue ?? finding.bad.rawValue - 1)
        if let contradiction = finding.contradiction {
            append(literal: ",\"isMonotone\":false,\"contradiction\":")
            append(jsonNumber: contradiction.rawValue)
        } else if finding.probeCount == nil {
            append(literal: ",\"isMonotone\":true")
        }
        append(member: "probes", jsonNumber: finding.probeCount)
        append(member: "event")
        append(json: event)
        append(literal: "}")
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TidemarkEvents
import TidemarkLog

/// Which events a command is to show, by what they are about and who made them.
struct EventFilter: ParsableArguments {
    @Option(help: ArgumentHelp("Only events of the zone of this name.", valueName: "name"))
    var zone: String?

    @Option(
        help: ArgumentHelp(
            "Only events of zones of this user's databases, by user record name.",
            valueName: "user"
        )
    )
    var owner: String?

    @Option(help: ArgumentHelp("Only events of the record of this name.", valueName: "name"))
    var record: String?

    @Option(help: ArgumentHelp("Only events of records of this type.", valueName: "name"))
    var type: String?

    @Option(help: ArgumentHelp("Only events by this user.", valueName: "name"))
    var user: String?

    @Option(help: ArgumentHelp("Only events from this device.", valueName: "name"))
    var device: String?

    /// Whether the event is wanted; names are compared as UTF-8 bytes.
    func matches(_ event: DecodedEvent) -> Bool {
        Self.accepts(zone, event.zone?.zoneName.string)
            && Self.accepts(owner, event.zone?.database.owner.userRecordName)
            && Self.accepts(record, event.recordName)
            && Self.accepts(type, event.recordType)
            && Self.accepts(user, event.envelope.user)
            && Self.accepts(device, event.envelope.device)
    }

    private static func accepts(_ wanted: String?, _ found: String?) -> Bool {
        guard let wanted else { return true }
        return found.map { $0.utf8.elementsEqual(wanted.utf8) } ?? false
    }
}

/// Which stretch of the log a command is to show.
struct EventRange: ParsableArguments {
    @Option(help: ArgumentHelp("The first event, by sequence number.", valueName: "sequence"))
    var from: UInt64?

    @Option(help: ArgumentHelp("The last event, by sequence number.", valueName: "sequence"))
    var to: UInt64?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            """
            Only commits at or after a time: RFC 3339 (2026-02-03T04:05:06Z), a date (its start in \
            UTC), or an age such as '2 hours ago'.
            """,
            valueName: "time"
        ),
        transform: readTime
    )
    var since: Int64?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Only commits at or before a time, in the same forms.",
            valueName: "time"
        ),
        transform: readTime
    )
    var until: Int64?

    /// The first and last position that both sequences and times allow.
    func positions(in source: any EventSource) throws -> (SequenceNumber, SequenceNumber) {
        var first = SequenceNumber(rawValue: max(1, from ?? 1))
        var last = source.durableSequence
        if let to { last = min(last, SequenceNumber(rawValue: to)) }
        if let since, since > .min {
            first = max(first, try source.lastSequence(atOrBefore: since - 1).next)
        }
        if let until { last = min(last, try source.lastSequence(atOrBefore: until)) }
        return (first, last)
    }
}

/// Reads a time of the command line.
private func readTime(_ text: String) throws -> Int64 {
    guard let time = PastTime.milliseconds(text) else {
        throw ValidationError("'\(text)' is not a time. A time is \(PastTime.forms).")
    }
    return time
}

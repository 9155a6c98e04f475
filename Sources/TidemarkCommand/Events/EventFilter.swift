// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TidemarkAdministration
import TidemarkLog
import TidemarkModel

/// The events that a command shows, by their subjects and callers.
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

    @Option(
        help: ArgumentHelp(
            "Only events of this container. The server's own, tidemark.server, is shown only if it is named.",
            valueName: "container"
        )
    )
    var container: String?

    @Option(help: ArgumentHelp("Only events of the record of this name.", valueName: "name"))
    var record: String?

    @Option(help: ArgumentHelp("Only events of records of this type.", valueName: "name"))
    var type: String?

    @Option(help: ArgumentHelp("Only events by this user.", valueName: "name"))
    var user: String?

    @Option(help: ArgumentHelp("Only events from this device.", valueName: "name"))
    var device: String?

    /// The same for a call.
    var filter: EventsCall.Filter {
        var filter = EventsCall.Filter()
        filter.zone = zone
        filter.owner = owner
        filter.container = container.map { ContainerID($0) }
        filter.record = record
        filter.type = type
        filter.user = user
        filter.device = device
        return filter
    }
}

/// The stretch of the log that a command shows.
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

    func validate() throws {
        if let from, let to, from > to {
            throw ValidationError("--from \(from) is after --to \(to). Exchange the numbers.")
        }
        if let since, let until, since > until {
            throw ValidationError("--since is after --until. Exchange the times.")
        }
    }

    /// Says the same in a call.
    func set(_ call: inout EventsCall) {
        call.first = from.map { SequenceNumber(rawValue: $0) }
        call.last = to.map { SequenceNumber(rawValue: $0) }
        call.since = since
        call.until = until
    }
}

/// Reads a time of the command line.
private func readTime(_ text: String) throws -> Int64 {
    guard let time = PastTime.milliseconds(text) else {
        throw ValidationError("'\(text)' is not a time. A time is \(PastTime.forms).")
    }
    return time
}

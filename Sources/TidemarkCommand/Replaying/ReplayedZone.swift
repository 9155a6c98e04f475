// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Tidemark
import TidemarkLog
import TidemarkModel

/// The result of a replay for a zone, for people.
extension ReplayedZone {
    /// The table for the rows.
    static let table = Table([
        ("zone", .left), ("database", .left), ("created by", .right), ("records", .right),
        ("tombstones", .right), ("last", .right), ("views", .left),
    ])

    /// Its row.
    var row: [String] {
        [
            identity.zoneName.string.replacing("\0", with: "/").printable,
            "\(identity.database)".printable, "\(key)", "\(liveCount)",
            "\(tombstoneCount)", "\(head)",
            isSame.map { $0 ? "same" : "DIFFER" } ?? "",
        ]
    }
}

/// The result of a whole replay.
struct ReplaySummary {
    var eventCount: Int
    /// The last position that was replayed.
    var last: SequenceNumber
    var elapsed: Duration
    var differingZoneCount: Int
    var findingCount: Int
    /// The outcome of the comparison; `nil` if none was requested.
    var views: ViewsCheck.Outcome?

    fileprivate var seconds: Double { elapsed / .seconds(1) }

    fileprivate var eventsPerSecond: Int { Int(Double(eventCount) / max(seconds, 1e-9)) }
}

extension [UInt8] {
    /// Appends the result for a zone.
    mutating func append(json zone: ReplayedZone) {
        append(literal: "{\"zoneKey\":")
        append(jsonNumber: zone.key.rawValue)
        append(jsonZone: zone.identity.zoneName.string, in: zone.identity.database)
        append(literal: ",\"records\":")
        append(jsonNumber: zone.liveCount)
        append(literal: ",\"tombstones\":")
        append(jsonNumber: zone.tombstoneCount)
        append(literal: ",\"lastSequence\":")
        append(jsonNumber: zone.head.rawValue)
        if let isSame = zone.isSame {
            append(literal: isSame ? ",\"isSame\":true" : ",\"isSame\":false")
        }
        append(literal: "}")
    }
}

extension StandardOutput {
    /// Prints the result of a whole replay.
    mutating func print(_ summary: ReplaySummary, _ options: OutputOptions) throws {
        let milliseconds = Int(summary.seconds * 1000)
        if options.isJSON(self) {
            var figures: Figures = [
                ("events", "\(summary.eventCount)"), ("lastSequence", "\(summary.last)"),
                ("milliseconds", "\(milliseconds)"),
                ("eventsPerSecond", "\(summary.eventsPerSecond)"),
            ]
            if let views = summary.views {
                figures += [
                    ("differingZones", "\(summary.differingZoneCount)"),
                    ("findings", "\(summary.findingCount)"), ("views", "\"\(views.rawValue)\""),
                ]
            }
            try line { $0.append(json: figures) }
            return
        }
        try line(
            "Replayed \(summary.eventCount) events up to event \(summary.last) in \(milliseconds) ms."
        )
        guard let views = summary.views else { return }
        if views == .compared {
            let isSame = summary.differingZoneCount + summary.findingCount == 0
            try line(
                isSame
                    ? "The views on disk are the same."
                    : "The views on disk differ, in \(summary.differingZoneCount) zones."
            )
        }
        if let note = views.note { try line(note) }
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Tidemark
import TidemarkAdministration
import TidemarkLog
import TidemarkModel

/// The result of a replay for a zone, for people.
extension ReplayCall.Zone {
    /// The table for the rows.
    static let table = Table([
        ("zone", .left), ("database", .left), ("created by", .right), ("records", .right),
        ("tombstones", .right), ("last", .right), ("views", .left),
    ])

    /// Its row.
    var row: [String] {
        [
            zoneName.replacing("\0", with: "/").printable, "\(database)".printable, "\(key)",
            "\(recordCount)", "\(tombstoneCount)", "\(last)",
            isSame.map { $0 ? "same" : "DIFFER" } ?? "",
        ]
    }
}

extension ReplayCall.Answer {
    /// The number of zones of which the views on disk differ.
    var differingZoneCount: Int { zones.count { $0.isSame == false } }

    fileprivate var seconds: Double { elapsed / .seconds(1) }

    fileprivate var eventsPerSecond: Int { Int(Double(eventCount) / max(seconds, 1e-9)) }
}

extension [UInt8] {
    /// Appends the result for a zone.
    mutating func append(json zone: ReplayCall.Zone) {
        append(literal: "{")
        append(member: "zoneKey", jsonNumber: zone.key)
        append(jsonZone: zone.zoneName, in: zone.database)
        append(member: "records", jsonNumber: zone.recordCount)
        append(member: "tombstones", jsonNumber: zone.tombstoneCount)
        append(member: "lastSequence", jsonNumber: zone.last.rawValue)
        if let isSame = zone.isSame { append(member: "isSame", jsonBool: isSame) }
        append(literal: "}")
    }
}

extension StandardOutput {
    /// Prints the result of a whole replay.
    mutating func print(summaryOf replay: ReplayCall.Answer, _ options: OutputOptions) throws {
        let milliseconds = Int(replay.seconds * 1000)
        let (differing, findings) = (replay.differingZoneCount, replay.findings.count)
        if options.isJSON(self) {
            var figures: Figures = [
                ("events", "\(replay.eventCount)"), ("lastSequence", "\(replay.last)"),
                ("milliseconds", "\(milliseconds)"),
                ("eventsPerSecond", "\(replay.eventsPerSecond)"),
            ]
            if let views = replay.views {
                figures += [
                    ("differingZones", "\(differing)"), ("findings", "\(findings)"),
                    ("views", "\"\(views.rawValue)\""),
                ]
            }
            try line { $0.append(json: figures) }
            return
        }
        try line(
            "Replayed \(replay.eventCount) events up to event \(replay.last) in \(milliseconds) ms."
        )
        guard let views = replay.views else { return }
        if views == .compared {
            try line(
                differing + findings == 0
                    ? "The views on disk are the same."
                    : "The views on disk differ, in \(differing) zones."
            )
        }
        if let note = views.note { try line(note) }
    }
}

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
            zoneName.replacing("\0", with: "/"), "\(database)", "\(key)",
            "\(recordCount)", "\(tombstoneCount)", "\(last)",
            isSame.map { $0 ? "same" : "DIFFER" } ?? "",
        ]
    }
}

extension ReplayCall.Answer {
    /// The number of zones of which the views on disk differ.
    var differingZoneCount: Int { zones.count { $0.isSame == false } }

    private var seconds: Double { elapsed / .seconds(1) }

    private var milliseconds: Int { Int(seconds * 1000) }

    private var eventsPerSecond: Int { Int(Double(eventCount) / max(seconds, 1e-9)) }
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

extension ReplayCall.Answer {
    /// The result of the whole replay, for programs.
    var figures: Figures {
        var figures: Figures = [
            ("events", "\(eventCount)"), ("lastSequence", "\(last)"),
            ("milliseconds", "\(milliseconds)"), ("eventsPerSecond", "\(eventsPerSecond)"),
        ]
        if let views {
            figures += [
                ("differingZones", "\(differingZoneCount)"), ("findings", "\(findings.count)"),
                ("views", "\"\(views.rawValue)\""),
            ]
        }
        return figures
    }

    /// The result of the whole replay, for people.
    var lines: [String] {
        var lines = ["Replayed \(eventCount) events up to event \(last) in \(milliseconds) ms."]
        if views == .compared {
            lines.append(
                differingZoneCount + findings.count == 0
                    ? "The views on disk are the same."
                    : "The views on disk differ, in \(differingZoneCount) zones."
            )
        }
        if let note = views?.note { lines.append(note) }
        return lines
    }
}

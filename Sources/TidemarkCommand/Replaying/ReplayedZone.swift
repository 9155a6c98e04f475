// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Tidemark
import TidemarkLog
import TidemarkModel
import TidemarkViews

/// What a zone came to in a replay, and whether the views on disk say the same.
struct ReplayedZone {
    let entry: ZoneEntry
    let key: UInt64
    /// Whether the views on disk say the same; `nil` if nothing was compared.
    let isSame: Bool?

    /// The tables whose entries belong to one zone each.
    private static let tables: [ViewTable] = [.names, .sync, .zones, .audiences]

    /// The zones of a replay, and of the views on disk if there are some, in the order of their
    /// creation.
    static func zones(
        of views: any ViewSnapshot,
        beside found: (any ViewSnapshot)?
    ) throws -> [ReplayedZone] {
        var entries = try entries(of: views)
        if let found { entries.merge(try Self.entries(of: found)) { replayed, _ in replayed } }
        return try entries.sorted { $0.key < $1.key }.map { key, entry in
            let isSame = try found.map { found in
                try tables.allSatisfy { table in
                    try views.digest(table, zone: key) == found.digest(table, zone: key)
                }
            }
            return ReplayedZone(entry: entry, key: key, isSame: isSame)
        }
    }

    private static func entries(of views: any ViewSnapshot) throws -> [UInt64: ZoneEntry] {
        var entries: [UInt64: ZoneEntry] = [:]
        try views.visit(.zones, from: .firstZone) { (key, value) throws(ViewIndexError) in
            entries[key.high] = try ZoneEntry(value, key: key.high)
        }
        return entries
    }

    /// What its rows stand in.
    static let table = Table([
        ("zone", .left), ("database", .left), ("created by", .right), ("records", .right),
        ("tombstones", .right), ("last", .right), ("views", .left),
    ])

    /// Its row.
    var row: [String] {
        [
            entry.identity.zoneName.string.replacing("\0", with: "/").printable,
            "\(entry.identity.database)".printable, "\(key)", "\(entry.liveCount)",
            "\(entry.tombstoneCount)", "\(entry.head)",
            isSame.map { $0 ? "same" : "DIFFER" } ?? "",
        ]
    }
}

/// What a replay came to as a whole.
struct ReplaySummary {
    var eventCount: Int
    /// The last position that was replayed.
    var last: SequenceNumber
    var elapsed: Duration
    var differingZoneCount: Int
    var findingCount: Int
    /// What became of the comparison; `nil` if none was asked for.
    var views: ViewCheck.Outcome?

    fileprivate var seconds: Double { elapsed / .seconds(1) }

    fileprivate var eventsPerSecond: Int { Int(Double(eventCount) / max(seconds, 1e-9)) }
}

extension [UInt8] {
    /// Appends what a zone came to.
    mutating func append(json zone: ReplayedZone) {
        append(literal: "{\"zoneKey\":")
        append(jsonNumber: zone.key)
        append(json: zone.entry.identity)
        append(literal: ",\"records\":")
        append(jsonNumber: zone.entry.liveCount)
        append(literal: ",\"tombstones\":")
        append(jsonNumber: zone.entry.tombstoneCount)
        append(literal: ",\"lastSequence\":")
        append(jsonNumber: zone.entry.head)
        if let isSame = zone.isSame {
            append(literal: isSame ? ",\"isSame\":true" : ",\"isSame\":false")
        }
        append(literal: "}")
    }
}

extension StandardOutput {
    /// Prints what a replay came to as a whole.
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

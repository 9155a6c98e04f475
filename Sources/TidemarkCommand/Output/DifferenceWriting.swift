// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkModel
import TidemarkReplay

/// Writes the differences between two points: as JSON for programs, as lines of text for people.
extension [UInt8] {
    /// Appends a difference.
    mutating func append(json difference: Difference) {
        switch difference {
        case .zone(let zone): append(json: zone)
        case .record(let record): append(json: record)
        }
    }

    private mutating func append(json difference: ZoneDifference) {
        append(literal: "{")
        append(member: "zone", jsonString: difference.zone.zoneName)
        append(member: "happened", jsonString: difference.kind.name)
        append(member: "reason", jsonString: difference.kind.reason.map { String(describing: $0) })
        append(literal: "}")
    }

    private mutating func append(json difference: RecordDifference) {
        append(literal: "{")
        append(member: "zone", jsonString: difference.id.zone.zoneName)
        append(member: "recordName", jsonString: difference.id.recordName)
        append(member: "recordType")
        append(jsonString: (difference.after ?? difference.before)?.recordType ?? "")
        append(member: "recordTypeBefore", jsonString: difference.recordTypeBefore)
        append(member: "happened", jsonString: difference.kind.rawValue)
        append(membersOf: difference.fields)
        append(membersOf: difference.parent)
        // A record that was added or removed has only one side, so nothing is compared inside its
        // values.
        if difference.kind == .changed {
            append(texts: difference.fields)
            append(lists: difference.fields)
        }
        append(literal: "}")
    }

    /// Appends how texts of several lines changed, if some did.
    private mutating func append(texts fields: [FieldChange]) {
        let texts = fields.compactMap { field in field.lines.map { (field.name, $0) } }
        if texts.isEmpty { return }
        append(literal: ",\"lines\":{")
        for (index, (name, text)) in texts.enumerated() {
            if index > 0 { append(UInt8(ascii: ",")) }
            append(jsonString: name)
            append(UInt8(ascii: ":"))
            append(jsonList: text.hunks.flatMap(\.unifiedLines)) { $0.append(jsonString: $1) }
        }
        append(literal: "}")
    }

    /// Appends how lists changed, if some did.
    private mutating func append(lists fields: [FieldChange]) {
        let lists = fields.compactMap { field in field.elements.map { (field.name, $0) } }
        if lists.isEmpty { return }
        append(literal: ",\"elements\":{")
        for (index, (name, list)) in lists.enumerated() {
            if index > 0 { append(UInt8(ascii: ",")) }
            append(jsonString: name)
            append(literal: ":{\"removed\":")
            append(jsonList: list.removed) { $0.append(json: $1) }
            append(member: "added")
            append(jsonList: list.added) { $0.append(json: $1) }
            append(literal: "}")
        }
        append(literal: "}")
    }
}

extension TextDiff.Hunk {
    /// The stretch as in a unified diff: where it is, then its lines with a mark before each.
    var unifiedLines: [String] {
        let counts = (
            old: lines.count { $0.fate != .added }, new: lines.count { $0.fate != .removed }
        )
        return ["@@ -\(oldStart),\(counts.old) +\(newStart),\(counts.new) @@"]
            + lines.map { $0.fate.rawValue + $0.text }
    }
}

extension ZoneDifference.Kind {
    fileprivate var name: String {
        switch self {
        case .created: "created"
        case .deleted: "deleted"
        case .recreated: "recreated"
        }
    }

    fileprivate var reason: ZoneDeletionReason? {
        switch self {
        case .created: nil
        case .deleted(let reason), .recreated(let reason): reason
        }
    }
}

// MARK: - Text

extension Difference {
    /// Returns the difference as lines: its subject, and then the fields.
    func lines(_ ink: Ink) -> [String] {
        switch self {
        case .zone(let zone):
            let text = "zone \(zone.zone.zoneName.printable): \(zone.kind.name)"
            return [ink.text(text, .heading)]
        case .record(let record):
            return [record.heading(ink)] + record.details(ink)
        }
    }
}

extension RecordDifference {
    fileprivate func heading(_ ink: Ink) -> String {
        let (mark, colour): (String, Ink.Colour) =
            switch kind {
            case .added: ("+", .added)
            case .changed: ("~", .position)
            case .removed: ("-", .removed)
            }
        let type = [recordTypeBefore, (after ?? before)?.recordType]
            .compactMap(\.self).joined(separator: " → ")
        let place = "\(id.zone.zoneName)/\(id.recordName)"
        return ink.text("\(mark) \(place)  \(type)".printable, colour)
    }

    fileprivate func details(_ ink: Ink) -> [String] {
        if kind == .removed { return [] }
        var lines = fields.lines(isBeforeKnown: true, ink)
        if let parent { lines.append(parent.line) }
        return lines
    }
}

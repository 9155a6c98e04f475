// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkModel
import TidemarkReplay

/// Text for people about the log's past events.
extension ChangeOrigin {
    /// The user and the device.
    var author: String {
        [user?.userRecordName, device].compactMap(\.self).joined(separator: " on ").printable
    }

    /// The commit's time.
    var timeText: String { RFC3339.text(milliseconds: time) }
}

extension Fields.Element {
    /// The value as JSON, without its type, on one line and not too long.
    var shortText: String { value?.shortText ?? "" }
}

extension FieldValue {
    /// The value as JSON, times in RFC 3339, on one line and not too long.
    var shortText: String {
        .short { bytes in
            if let times = timesText {
                bytes.append(contentsOf: times.utf8)
            } else {
                bytes.append(json: self)
            }
        }
    }
}

extension String {
    /// Returns the text that a closure appends, without control characters and shortened if long.
    fileprivate static func short(_ append: (inout [UInt8]) -> Void) -> String {
        var bytes: [UInt8] = []
        append(&bytes)
        let text = String(decoding: bytes, as: UTF8.self).printable
        // One less, because the ellipsis counts too.
        return text.count <= shortCount ? text : "\(text.prefix(shortCount - 1))…"
    }

    private static var shortCount: Int { 60 }
}

extension RecordHistory.Entry {
    /// Returns the entry as lines: the change, and then its fields.
    func lines(_ ink: Ink) -> [String] {
        switch self {
        case .change(let change):
            [change.heading(ink)] + change.details(ink)
        case .pruned(let sequence):
            [
                ink.text(
                    "History pruned: event \(sequence) and what came before it are gone from the log.",
                    .aside
                )
            ]
        }
    }
}

extension PastChange {
    fileprivate func heading(_ ink: Ink) -> String {
        let details =
            [origin.build.map { "build \($0)" }, origin.request.map { "request \($0)" }]
            .compactMap(\.self).joined(separator: ", ").printable
        let what = ink.text(text, colour)
        return [
            ink.text("\(origin.sequence)", .position), origin.timeText, what, origin.author,
            details.isEmpty ? "" : ink.text("(\(details))", .aside),
        ].filter { !$0.isEmpty }.joined(separator: "  ")
    }

    private var colour: Ink.Colour {
        switch happening {
        case .created, .recreated: .added
        case .deleted, .zoneDeleted: .removed
        case .changed, .touched, .enteredShare, .leftShare: .heading
        }
    }

    private var text: String {
        switch happening {
        case .created: "created"
        case .recreated: "deleted and created again"
        case .changed: "changed"
        case .touched: "touched"
        case .deleted: "deleted"
        case .enteredShare: "came under a share"
        case .leftShare: "left a share"
        case .zoneDeleted: "deleted with its zone"
        }
    }

    /// Returns the fields, and changes of the record type, the parent and the share.
    fileprivate func details(_ ink: Ink) -> [String] {
        var lines = fields.lines(isBeforeKnown: isBeforeKnown, ink)
        if let before = recordTypeBefore, let record {
            lines.append("    record type: \("\(before) → \(record.recordType)".printable)")
        }
        if let parent { lines.append(parent.line) }
        if record != nil, audience != nil {
            lines.append("    under a share from here on")
        }
        return lines
    }
}

extension PastChange.ParentMove {
    /// The move as a line below its subject.
    var line: String {
        "    parent: \((before ?? "none").printable) → \((after ?? "none").printable)"
    }
}

extension [FieldChange] {
    /// Returns the fields as lines below their subject: a value before and after, a text by its
    /// lines, a list by its elements.
    func lines(isBeforeKnown: Bool, _ ink: Ink) -> [String] {
        let width = map(\.name.count).max() ?? 0
        return flatMap { field in
            let name = "    \(field.name.printable)"
            let parts = field.parts(ink)
            if !parts.isEmpty { return [name] + parts.map { "        \($0)" } }
            let space = String(repeating: " ", count: width - field.name.count)
            return ["\(name)\(space)  \(field.sides(isBeforeKnown: isBeforeKnown, ink))"]
        }
    }
}

extension FieldChange {
    /// Returns the changes inside a text of several lines or a list; nothing for other values.
    fileprivate func parts(_ ink: Ink) -> [String] {
        if let text = lines {
            return text.hunks.flatMap(\.unifiedLines).map { line in
                ink.text(line.printable, Self.colour(of: line))
            }
        }
        guard let list = elements else { return [] }
        return list.removed.map { ink.text("- \($0.shortText)", .removed) }
            + list.added.map { ink.text("+ \($0.shortText)", .added) }
    }

    private static func colour(of line: String) -> Ink.Colour {
        switch line.first {
        case "+": .added
        case "-": .removed
        case "@": .heading
        default: .aside
        }
    }

    /// The value before and after, as far as it was there and is known.
    fileprivate func sides(isBeforeKnown: Bool, _ ink: Ink) -> String {
        let old = old.map { ink.text($0.shortText, .removed) }
        let new = new.map { ink.text($0.shortText, .added) }
        switch (old, new) {
        case (let old?, let new?): return "\(old) → \(new)"
        case (let old?, nil): return "\(old) → removed"
        // Without the previous version, a new field and a changed one look the same.
        case (nil, let new?): return isBeforeKnown ? new : "? → \(new)"
        case (nil, nil): return "removed"
        }
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkModel

/// A record as a person reads it.
extension Record {
    /// Returns the record as lines: its id, its creator and modifier, and its fields.
    func lines(_ ink: Ink) -> [String] {
        let heading = [
            "\(recordID)".printable, recordType.printable, changeTag.map { "(\($0.text))" } ?? "",
        ].filter { !$0.isEmpty }.joined(separator: "  ")
        var lines = [
            ink.text(heading, .heading),
            ink.text("    created \(created.text), modified \(modified.text)", .aside),
        ]
        if let parent = body.parentName { lines.append("    parent: \(parent.printable)") }
        let fields = fields.present.map {
            // Made printable before the widths are measured: a replaced character may change the
            // count.
            (
                name: $0.name.printable, value: $0.value?.wholeText ?? "",
                parts: $0.value?.parts ?? []
            )
        }
        let width = fields.map(\.name.count).max() ?? 0
        return lines
            + fields.flatMap { field -> [String] in
                if !field.parts.isEmpty {
                    return ["    \(field.name)"] + field.parts.map { "        \($0)" }
                }
                let space = String(repeating: " ", count: width - field.name.count)
                return ["    \(field.name)\(space)  \(field.value)"]
            }
    }
}

extension Authorship {
    /// The time, the user and the device.
    fileprivate var text: String {
        let author = [user?.userRecordName, device].compactMap(\.self).joined(separator: " on ")
        let when = RFC3339.text(milliseconds: time)
        return author.isEmpty ? when : "\(when) by \(author.printable)"
    }
}

extension FieldValue {
    /// The value on one line, whole: texts as they are, times in RFC 3339, all else as in JSON.
    var wholeText: String {
        if case .string(let text) = self { return text.printable }
        if let times = timesText { return times }
        var bytes: [UInt8] = []
        bytes.append(json: self)
        return String(decoding: bytes, as: UTF8.self).printable
    }

    /// The lines of a text of several lines; nothing for other values.
    fileprivate var parts: [String] {
        guard case .string(let text) = self else { return [] }
        let lines = text.split(omittingEmptySubsequences: false) { $0.isNewline }
        return lines.count > 1 ? lines.map { String($0).printable } : []
    }

    /// The times of a timestamp or of a list of them, as people read them; `nil` for other values.
    var timesText: String? {
        switch self {
        case .timestamp(let time): RFC3339.text(milliseconds: time)
        case .timestampList(let times):
            "[\(times.map { RFC3339.text(milliseconds: $0) }.joined(separator: ","))]"
        default: nil
        }
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import TidemarkModel

/// The difference of two texts, line by line.
public struct TextDiff: Hashable, Sendable {
    /// One line of either text.
    public struct Line: Hashable, Sendable {
        /// The fate of a line.
        public enum Fate: String, Hashable, Sendable {
            /// The line is in both texts.
            case kept = " "
            /// The line is only in the old text.
            case removed = "-"
            /// The line is only in the new text.
            case added = "+"
        }

        /// The fate of the line.
        public let fate: Fate
        /// The line without its end.
        public let text: String
    }

    /// A stretch of lines that changed, with some of those around it.
    public struct Hunk: Hashable, Sendable {
        /// The number of its first line in the old text, from 1.
        public let oldStart: Int
        /// The number of its first line in the new text, from 1.
        public let newStart: Int
        /// Its lines.
        public let lines: [Line]
    }

    /// The changes, from the beginning of the texts to their end.
    public let hunks: [Hunk]

    /// Compares two texts by their lines, which are equal if their bytes are.
    ///
    /// Shows `context` unchanged lines around each change. If there are more than 1,000 removed or
    /// added lines and hardly any common ones, the texts are shown as one change.
    public init(from old: String, to new: String, context: Int = 3) {
        let (old, new) = (Self.lines(of: old), Self.lines(of: new))
        let edits = EditWalk.edits(from: old, to: new)
        var hunks: [Hunk] = []
        var starts = (old: 1, new: 1)
        var place = 0
        for stretch in Self.stretches(of: edits, context: context) {
            // Between two stretches all lines are kept.
            let gap = stretch.lowerBound - place
            starts = (starts.old + gap, starts.new + gap)
            let lines = edits[stretch].map { edit in
                switch edit {
                case .kept(let place, _): Line(fate: .kept, text: old[place].string)
                case .removed(let place): Line(fate: .removed, text: old[place].string)
                case .added(let place): Line(fate: .added, text: new[place].string)
                }
            }
            hunks.append(Hunk(oldStart: starts.old, newStart: starts.new, lines: lines))
            starts.old += lines.count { $0.fate != .added }
            starts.new += lines.count { $0.fate != .removed }
            place = stretch.upperBound
        }
        self.hunks = hunks
    }

    /// The lines of a text; as names, which are equal if their bytes are.
    private static func lines(of text: String) -> [Name] {
        var lines = text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        // The end of the last line begins no other.
        if lines.last?.isEmpty == true { lines.removeLast() }
        // As names, because these are compared as bytes. Equivalent texts of different bytes are a
        // change.
        return lines.map { Name(String(Substring($0))) }
    }

    /// The ranges of steps to show: around each change, those that meet as one.
    private static func stretches(of edits: [Edit], context: Int) -> [Range<Int>] {
        var stretches: [Range<Int>] = []
        for (index, edit) in edits.enumerated() where edit.isChange {
            let start = max(0, index - context)
            let end = min(edits.count, index + context + 1)
            if let last = stretches.last, last.upperBound >= start {
                stretches[stretches.count - 1] = last.lowerBound..<end
            } else {
                stretches.append(start..<end)
            }
        }
        return stretches
    }
}

extension Edit {
    fileprivate var isChange: Bool { if case .kept = self { false } else { true } }
}

extension FieldChange {
    /// The change of a text of several lines, line by line.
    ///
    /// It is `nil` if the field is not such a text, or is missing on one side, or if only the end
    /// of its last line differs.
    public var lines: TextDiff? {
        guard case .string(let old)? = before, case .string(let new)? = after,
            old.utf8.contains(UInt8(ascii: "\n")) || new.utf8.contains(UInt8(ascii: "\n"))
        else { return nil }
        let diff = TextDiff(from: old, to: new)
        return diff.hunks.isEmpty ? nil : diff
    }

    /// The change of a list, element by element; `nil` if the field is not a list, or is missing on
    /// one side.
    public var elements: ListDiff? {
        guard let old = before?.elements, let new = after?.elements else { return nil }
        return ListDiff(from: old, to: new)
    }
}

/// The difference of two lists, element by element.
public struct ListDiff: Hashable, Sendable {
    /// The elements that the new list has not, in their order.
    public let removed: [FieldValue]
    /// The elements that the old list had not, in their order.
    public let added: [FieldValue]

    /// Compares two lists; elements are equal if their bytes are.
    public init(from old: [FieldValue], to new: [FieldValue]) {
        let edits = EditWalk.edits(from: old, to: new)
        removed = edits.compactMap { if case .removed(let place) = $0 { old[place] } else { nil } }
        added = edits.compactMap { if case .added(let place) = $0 { new[place] } else { nil } }
    }
}

extension FieldValue {
    /// The elements of a list; `nil` if it is none.
    fileprivate var elements: [FieldValue]? {
        switch self {
        case .string, .int64, .double, .bytes, .timestamp, .location, .reference, .asset: nil
        case .stringList(let values): values.map { .string($0) }
        case .int64List(let values): values.map { .int64($0) }
        case .doubleList(let values): values.map { .double($0) }
        case .bytesList(let values): values.map { .bytes($0) }
        case .timestampList(let values): values.map { .timestamp($0) }
        case .locationList(let values): values.map { .location($0) }
        case .referenceList(let values): values.map { .reference($0) }
        case .assetList(let values): values.map { .asset($0) }
        }
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The words of a text: its parts between white space, without punctuation at both ends.
///
/// So "Hello, world!" has `Hello` and `world`, and `user@example.com`, `don't` and `C++` are one
/// word each.
struct WordRanges {
    private var offset: Int
    private let end: Int

    /// Reads a part of some bytes.
    init(_ range: Range<Int>) {
        offset = range.lowerBound
        end = range.upperBound
    }

    /// Returns the range of the next word; `nil` if there is none.
    mutating func next(in bytes: RawSpan) -> Range<Int>? {
        var start: Int?
        var last = offset
        while offset < end {
            let before = offset
            let scalar = UTF8Text.scalar(in: bytes, at: &offset, end: end)
            switch Self.kind(of: scalar) {
            case .space:
                // The word ends after its last character that is not punctuation, which may be
                // before the space.
                if let start { return start..<last }
            case .punctuation: break
            case .other:
                if start == nil { start = before }
                last = offset
            }
        }
        return start.map { $0..<last }
    }

    private enum Kind {
        case space
        case punctuation
        case other
    }

    private static func kind(of scalar: UInt32) -> Kind {
        switch scalar {
        case 48...57, 65...90, 97...122: return .other
        case 9...13, 32: return .space
        // The ASCII symbols that are not punctuation: $ + < = > ^ ` | ~
        case 0x24, 0x2B, 0x3C...0x3E, 0x5E, 0x60, 0x7C, 0x7E: return .other
        case ..<0x80: return .punctuation
        default: break
        }
        guard let properties = Unicode.Scalar(scalar)?.properties else { return .other }
        if properties.isWhitespace { return .space }
        switch properties.generalCategory {
        case .connectorPunctuation, .dashPunctuation, .openPunctuation, .closePunctuation,
            .initialPunctuation, .finalPunctuation, .otherPunctuation, .control, .format:
            return .punctuation
        default: return .other
        }
    }
}

extension Query.WordSearch {
    /// The words that a search omits.
    private static let stopWords: [[UInt8]] =
        // The list of CloudKit's documentation.
        """
        a an and are as at be but by for if in into is it no not of on or such that the their then \
        there these they this to was will with
        """.split(separator: " ").map { Array($0.utf8) }

    /// The words to search for: folded, sorted, unique, without stop words.
    package var foldedWords: [[UInt8]] {
        Self.foldedWords(of: text).filter { !Self.stopWords.contains($0) }
    }

    /// Returns the words of a text: folded, sorted and unique.
    static func foldedWords(of text: String) -> [[UInt8]] {
        var words: [[UInt8]] = []
        forEachWord(in: Array(text.utf8).span.bytes) { word in
            words.append(word.withUnsafeBytes { Array($0) })
        }
        words.sort { $0.lexicographicallyPrecedes($1) }
        return words.enumerated().filter { $0 == 0 || words[$0 - 1] != $1 }.map(\.element)
    }

    /// Calls a closure with each word of a text, folded and in order.
    ///
    /// An index of words is filled with these.
    package static func forEachWord(in text: RawSpan, _ body: (RawSpan) -> Void) {
        var ranges = WordRanges(0..<text.byteCount)
        // One buffer for all words, because there are millions.
        var word: [UInt8] = []
        while let range = ranges.next(in: text) {
            word.removeAll(keepingCapacity: true)
            FoldedText.append(text, range, .all, to: &word)
            if !word.isEmpty { body(word.span.bytes) }
        }
    }
}

extension Query.TextOptions {
    static let all: Query.TextOptions = [.caseInsensitive, .diacriticInsensitive]
}

/// A search for words in one record.
///
/// Up to 64 words are tracked in one machine word; more need an allocation for each record.
struct WordFinder: Sendable {
    private let words: [[UInt8]]
    private let requiresAll: Bool

    init(_ search: Query.WordSearch) {
        words = search.foldedWords
        requiresAll = search.requiresAll
    }

    /// The words that were found so far.
    struct Progress {
        fileprivate var found: UInt64 = 0
        fileprivate var others: [Bool] = []
        fileprivate var foundCount = 0
    }

    /// A search in which nothing has been found yet.
    var begun: Progress {
        var progress = Progress()
        if words.count > 64 { progress.others = Array(repeating: false, count: words.count) }
        return progress
    }

    /// True if the search has no words, so that it is over before it begins.
    var isEmpty: Bool { words.isEmpty }

    /// Reads a text; returns true if the search has found all it needs.
    func look(
        at range: Range<Int>,
        in bytes: RawSpan,
        _ progress: inout Progress
    ) -> Bool {
        var ranges = WordRanges(range)
        while let word = ranges.next(in: bytes) {
            guard let index = index(of: word, in: bytes) else { continue }
            if !requiresAll { return true }
            if words.count > 64 {
                // A word that occurs again must not be counted again.
                if progress.others[index] { continue }
                progress.others[index] = true
            } else {
                if progress.found & 1 << UInt64(index) != 0 { continue }
                progress.found |= 1 << UInt64(index)
            }
            progress.foundCount += 1
            if progress.foundCount == words.count { return true }
        }
        return false
    }

    private func index(of range: Range<Int>, in bytes: RawSpan) -> Int? {
        var low = 0
        var high = words.count
        while low < high {
            let middle = (low + high) / 2
            // The words are sorted by their folded bytes, which is the order of this comparison.
            let order = TextOrder.compare(range, in: bytes, .all, to: words[middle])
            if order == 0 { return middle }
            if order > 0 { low = middle + 1 } else { high = middle }
        }
        return nil
    }
}

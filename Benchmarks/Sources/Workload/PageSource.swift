// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// Makes pages shaped like those of the real history, from nothing but numbers.
///
/// Lengths follow the measured distribution of the real pages (median 475 bytes, mean 534), and the
/// vocabulary is sized so that LZ4 finds about as much in 16 KiB of these pages as in 16 KiB of the
/// real ones (2.2 times). The same change gives the same bytes on every machine.
public struct PageSource: Sendable {
    /// Quantiles of the real pages' text in bytes, and the share of pages at or below them.
    private static let lengths: [(share: Double, byteCount: Double)] = [
        (0, 60), (0.05, 119), (0.25, 204), (0.5, 475), (0.75, 748), (0.9, 1024), (0.95, 1223),
        (0.99, 1722), (1, 3402),
    ]

    /// Lines of text that pages pick from, one after another, and where each ends.
    private var lines: [UInt8] = []
    private var lineEnds: [Int] = [0]
    /// Lines for commands, likewise.
    private var commands: [UInt8] = []
    private var commandEnds: [Int] = [0]

    /// Makes the vocabulary and the lines; a few milliseconds.
    public init() {
        var random = SplitMix(seed: 0x7469_6465)
        let words = Self.vocabulary(count: 12_000, random: &random)
        for _ in 0..<32_768 {
            for position in 0..<(4 + random.below(7)) {
                if position > 0 { lines.append(UInt8(ascii: " ")) }
                lines += words[Self.skewed(words.count, &random)]
            }
            lineEnds.append(lines.count)
        }
        for _ in 0..<32_768 {
            for _ in 0..<(1 + random.below(3)) {
                commands += Array(" --".utf8) + words[Self.skewed(words.count, &random)]
            }
            if random.below(3) > 0 {
                commands += Array(" {{path/to/".utf8) + words[Self.skewed(words.count, &random)]
                commands += Array("}}".utf8)
            }
            commandEnds.append(commands.count)
        }
    }

    /// Fills a page with what a change makes of its record; about a microsecond.
    public func fill(_ page: inout Page, for change: Change) {
        page.title.removeAll(keepingCapacity: true)
        page.folder.removeAll(keepingCapacity: true)
        page.text.removeAll(keepingCapacity: true)
        change.appendTitle(to: &page.title)
        change.folder.withUTF8Buffer { page.folder.append(contentsOf: $0) }
        let record = SplitMix.mix(UInt64(change.zone) << 32 | UInt64(change.number))
        let byteCount = Self.textByteCount(record)
        // An update rewrites one example of the page and keeps the others.
        let examples = max(1, byteCount / 100)
        let rewritten = change.version == 0 ? -1 : Int(change.version) % examples
        page.text += Array("# ".utf8) + page.title + Array("\n\n> ".utf8)
        appendLine(SplitMix.mix(record &+ 1), to: &page.text)
        page.text += Array(".\n> More information: <https://example.com/".utf8) + page.title
        page.text += Array(">.\n".utf8)
        var example = 0
        while page.text.count < byteCount {
            var seed = record &+ UInt64(example) &* 0x9E37
            if example == rewritten { seed &+= UInt64(change.version) << 20 }
            page.text += Array("\n- ".utf8)
            appendLine(SplitMix.mix(seed &+ 2), to: &page.text)
            page.text += Array(":\n\n`".utf8) + page.title
            appendCommand(SplitMix.mix(seed &+ 3), to: &page.text)
            page.text += Array("`\n".utf8)
            example += 1
        }
        page.lineCount = Int64(4 + 4 * example)
    }

    /// The page that a change makes of its record.
    public func page(for change: Change) -> Page {
        var page = Page()
        fill(&page, for: change)
        return page
    }

    private func appendLine(_ random: UInt64, to text: inout [UInt8]) {
        let index = Int(random % UInt64(lineEnds.count - 1))
        text += lines[lineEnds[index]..<lineEnds[index + 1]]
    }

    private func appendCommand(_ random: UInt64, to text: inout [UInt8]) {
        let index = Int(random % UInt64(commandEnds.count - 1))
        text += commands[commandEnds[index]..<commandEnds[index + 1]]
    }

    /// Where the next example would go beyond this, the page ends.
    private static func textByteCount(_ random: UInt64) -> Int {
        let share = Double(random >> 11) / Double(1 << 53)
        for (low, high) in zip(lengths, lengths.dropFirst()) where share <= high.share {
            let part = (share - low.share) / (high.share - low.share)
            // An example is some 90 bytes, and on average half of the last one is too much.
            return Int(low.byteCount + part * (high.byteCount - low.byteCount)) - 45
        }
        return 475
    }

    private static func vocabulary(count: Int, random: inout SplitMix) -> [[UInt8]] {
        let onsets = ["b", "c", "d", "f", "g", "l", "m", "n", "p", "r", "s", "t", "v", "st", "tr"]
        let vowels = ["a", "e", "i", "o", "u", "ea", "io"]
        let codas = ["", "", "n", "r", "s", "t", "l", "ng"]
        return (0..<count).map { _ in
            var word = ""
            for _ in 0..<(1 + random.below(3)) {
                word += onsets[random.below(onsets.count)] + vowels[random.below(vowels.count)]
                word += codas[random.below(codas.count)]
            }
            return Array(word.utf8)
        }
    }

    /// A number below a bound, small ones far more often: words are not used equally.
    private static func skewed(_ bound: Int, _ random: inout SplitMix) -> Int {
        let part = Double(random.next() >> 11) / Double(1 << 53)
        return Int(Double(bound) * part * part * part)
    }
}

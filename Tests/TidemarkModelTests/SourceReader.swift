// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// Reads the texts of a source that consist of several words, and finds the types that are errors.
struct SourceReader {
    /// What is read between two brackets.
    private struct Frame {
        var mark: Unicode.Scalar
        var text = SourceText()
        var isJoining = false
    }

    private let scalars: [Unicode.Scalar]
    private let file: String
    private var index = 0
    private var line = 1
    private var owner = ""
    private var declared: String?
    private var inherits = false
    private var word = ""
    private var frames = [Frame(mark: "\0")]
    private var last: Int { frames.count - 1 }

    private(set) var texts: [SourceText] = []
    private(set) var errors: Set<String> = []

    init(_ source: String, file: String) {
        scalars = Array(source.unicodeScalars)
        self.file = file
    }

    mutating func read() {
        while index < scalars.count {
            switch at(index) {
            case "/" where at(index + 1) == "/":
                while index < scalars.count, at(index) != "\n" { index += 1 }
            case "\n": endLine()
            case " ": index += 1
            case "\"": addLiteral()
            case let scalar where Self.isWord(scalar): addWord()
            default: addMark()
            }
        }
    }

    private func at(_ index: Int) -> Unicode.Scalar {
        index >= 0 && index < scalars.count ? scalars[index] : "\0"
    }

    private static func isWord(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "a"..."z", "A"..."Z", "0"..."9", "_": true
        default: false
        }
    }

    /// True directly behind the last word.
    private var isAfterWord: Bool { Self.isWord(at(index - 1)) }

    private func afterSpace(_ start: Int) -> Int {
        var next = start
        while at(next) == " " || at(next) == "\n" { next += 1 }
        return next
    }

    private func text(_ range: Range<Int>) -> String {
        String(String.UnicodeScalarView(scalars[range]))
    }

    private mutating func endLine() {
        line += 1
        index += 1
        declared = nil
        guard frames[last].mark != "(", !frames[last].isJoining else { return }
        if !"+?:.".unicodeScalars.contains(at(afterSpace(index))) { finish() }
    }

    private mutating func addWord() {
        let start = index
        let before = word
        while Self.isWord(at(index)) { index += 1 }
        word = text(start..<index)
        addValue()
        if ["struct", "enum", "class", "actor", "extension"].contains(before) {
            declared = word
            inherits = false
            if frames.count == 1 { owner = word }
        } else if ["Error", "LocalizedError", "CustomNSError"].contains(word), inherits {
            if let declared { errors.insert(declared) }
        }
    }

    /// Puts `…` for a value that `+` adds to a text.
    private mutating func addValue() {
        guard frames[last].isJoining else { return }
        if !frames[last].text.text.hasSuffix("…") { frames[last].text.text += "…" }
        frames[last].isJoining = false
    }

    private mutating func addMark() {
        let isApart = at(index - 1) == " "
        switch at(index) {
        case "(", "[", "{": begin()
        case ")", "]", "}":
            finish()
            if last > 0 { frames.removeLast() }
        case ",":
            finish()
            frames[last].text.label = ""
        case "+": frames[last].isJoining = true
        case "?" where isApart: finish()
        case ":" where isApart: finish()
        case ":":
            inherits = true
            let isLabel = frames[last].mark == "(" && isAfterWord
            if isLabel, frames[last].text.text.isEmpty { frames[last].text.label = word }
        default: addValue()
        }
        index += 1
    }

    private mutating func begin() {
        addValue()
        var frame = Frame(mark: at(index))
        if frame.mark == "(" {
            if isAfterWord { frame.text.call = word }
            let start = afterSpace(index + 1)
            var end = start + 1
            while Self.isWord(at(end)) { end += 1 }
            if at(start) == "." { frame.text.code = text(start + 1..<end) }
        }
        if frame.mark == "{" { declared = nil }
        frames.append(frame)
    }

    /// Ends a text, and lists it if it has several words.
    private mutating func finish() {
        let found = frames[last].text
        frames[last].text.text = ""
        frames[last].isJoining = false
        if found.text.contains(" ") {
            texts.append(found)
        } else if found.code.isEmpty, frames[last].mark == "(" {
            frames[last].text.code = found.text
        }
    }

    private mutating func addLiteral() {
        if !frames[last].isJoining { finish() }
        var joined = frames[last].text
        if joined.text.isEmpty {
            joined.place = "\(file):\(line)"
            joined.owner = owner
            if frames[last].isJoining { joined.text = "…" }
        }
        joined.text += literal()
        frames[last].text = joined
        frames[last].isJoining = false
    }

    /// Reads a literal.
    ///
    /// One that is not multiline ends with its line at the latest: raw ones are not read right.
    private mutating func literal() -> String {
        let isLong = at(index + 1) == "\"" && at(index + 2) == "\""
        index += isLong ? 3 : 1
        var text = String.UnicodeScalarView()
        while index < scalars.count {
            let scalar = at(index)
            if scalar == "\"", !isLong || at(index + 1) == "\"" && at(index + 2) == "\"" { break }
            if scalar == "\n" {
                if !isLong { return String(text) }
                line += 1
            }
            index += 1
            guard scalar == "\\" else {
                text.append(scalar)
                continue
            }
            index += 1
            switch at(index - 1) {
            case "(":
                skipValue()
                text.append("…")
            case "\n": line += 1
            case "n": text.append(" ")
            case let escaped: text.append(escaped)
            }
        }
        index += isLong ? 3 : 1
        guard isLong else { return String(text) }
        return String(text).split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }

    /// Skips the value in a literal, from behind its opening parenthesis.
    private mutating func skipValue() {
        var depth = 1
        while depth > 0, index < scalars.count {
            switch at(index) {
            case "\"":
                _ = literal()
                continue
            case "(": depth += 1
            case ")": depth -= 1
            case "\n": line += 1
            default: break
            }
            index += 1
        }
    }
}

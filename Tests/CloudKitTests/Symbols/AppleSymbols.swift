// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A declaration by the name of its type and its own, with labels: `CKRecord.ID`, `init(recordName:)`.
struct SymbolName: Hashable, Comparable {
    /// The type it is a member of; empty for what belongs to the module.
    var type: String
    var name: String

    static func < (lhs: SymbolName, rhs: SymbolName) -> Bool {
        (lhs.type, lhs.name) < (rhs.type, rhs.name)
    }
}

/// The declarations of Apple's framework, from Appendix A of the reference beside the project.
struct AppleSymbols {
    static let reference = URL(filePath: #filePath)
        .appending(path: "../../../../../shared/cloudkit-semantics.md").standardized

    private(set) var names: Set<SymbolName> = []

    init() throws {
        let text = try String(contentsOf: Self.reference, encoding: .utf8)
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        guard let first = lines.firstIndex(where: { $0.hasPrefix("### A.1") }),
            let second = lines.firstIndex(where: { $0.hasPrefix("### A.2") })
        else { throw CocoaError(.fileReadCorruptFile) }
        addFirst(lines[first..<second])
        for line in lines[second...] where line.hasPrefix("- `") { addNewer(Self.code(in: line)) }
    }

    private static func code(in line: Substring) -> [String] {
        line.split(separator: "`", omittingEmptySubsequences: false)
            .enumerated().filter { $0.offset % 2 == 1 }.map { String($0.element) }
    }

    /// Reads A.1: a heading for each type, and a line for each of its members.
    private mutating func addFirst(_ lines: ArraySlice<Substring>) {
        var type = ""
        for line in lines {
            let code = Self.code(in: line)
            if line.hasPrefix("**Module level**") {
                add(code, to: "")
            } else if line.hasPrefix("**"), line.hasSuffix("**") {
                type = String(line).replacing("**", with: "")
            } else if line.hasPrefix("- ") {
                add(Array(code.prefix(1)), to: type)
            }
        }
    }

    /// Reads a line of A.2: a type and its members, or one member alone.
    private mutating func addNewer(_ code: [String]) {
        let type = String(code[0].prefix { $0 != ":" })
        for text in code.dropFirst() {
            let name = Declaration(text).name ?? String(text.prefix { $0 != ":" })
            names.insert(SymbolName(type: type, name: name))
        }
        guard let dot = type.lastIndex(of: ".") else { return }
        // The type is itself a member of another one.
        let name = String(type[type.index(after: dot)...])
        names.insert(SymbolName(type: String(type[..<dot]), name: name))
    }

    private mutating func add(_ declarations: [String], to type: String) {
        for declaration in declarations {
            guard let name = Declaration(declaration).name else { continue }
            names.insert(SymbolName(type: type, name: name))
        }
    }
}

/// One declaration as it is written in Swift.
struct Declaration {
    private static let kinds: Set<String> = [
        "func", "var", "let", "init", "subscript", "typealias", "struct", "enum", "case", "class",
        "protocol",
    ]

    /// The name with its labels; `nil` for what is no declaration of a member.
    private(set) var name: String?

    init(_ text: String) {
        var rest = Substring(text)
        var kind = ""
        while let word = rest.prefixMatch(of: /@?[A-Za-z]+/) {
            let token = String(word.output)
            if Self.kinds.contains(token) {
                // A class method is a method; a class is followed by its name.
                let next = rest[word.range.upperBound...].drop { $0 == " " }
                let following = String(next.prefix { $0.isLetter })
                if token != "class" || !Self.kinds.contains(following) {
                    kind = token
                    rest = rest[word.range.upperBound...]
                    break
                }
            }
            rest = rest[word.range.upperBound...].drop { $0 == " " }
        }
        guard !kind.isEmpty else { return }
        rest = rest.drop { $0 == " " || $0 == "?" || $0 == "!" }
        var base = kind
        if kind != "init", kind != "subscript" {
            base = String(rest.prefix { !" (<:".contains($0) })
            rest = rest.dropFirst(base.count)
        }
        guard ["func", "init", "subscript", "case"].contains(kind) else {
            name = base
            return
        }
        if rest.hasPrefix("<") { rest = rest[Self.end(of: rest)...] }
        guard rest.hasPrefix("(") else {
            name = base
            return
        }
        let arguments = rest[..<Self.end(of: rest)].dropFirst().dropLast()
        name = "\(base)(\(Self.labels(arguments, isSubscript: kind == "subscript")))"
    }

    /// Where what begins with a bracket ends.
    private static func end(of text: Substring) -> Substring.Index {
        var depth = 0
        var previous: Character = " "
        for index in text.indices {
            let character = text[index]
            if "([<{".contains(character) { depth += 1 }
            if ")]}".contains(character) || character == ">" && previous != "-" { depth -= 1 }
            if depth == 0 { return text.index(after: index) }
            previous = character
        }
        return text.endIndex
    }

    private static func labels(_ arguments: Substring, isSubscript: Bool) -> String {
        var rest = arguments
        var labels = ""
        while !rest.isEmpty {
            var argument = rest
            var index = rest.startIndex
            while index < rest.endIndex {
                if "([<{".contains(rest[index]) {
                    index = end(of: rest[index...])
                } else if rest[index] == "," {
                    argument = rest[..<index]
                    break
                } else {
                    index = rest.index(after: index)
                }
            }
            rest = rest[argument.endIndex...].dropFirst()
            let words = argument.prefix { $0 != ":" }.split(separator: " ")
            let isNamed = argument.contains(":") && !words.isEmpty && words.count <= 2
            // The only name of a subscript's argument is not a label.
            let isLabelled = isNamed && (!isSubscript || words.count == 2)
            labels += (isLabelled ? String(words[0]) : "_") + ":"
        }
        return labels
    }
}

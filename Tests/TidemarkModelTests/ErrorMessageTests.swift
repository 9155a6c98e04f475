// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// A text of the sources: literals that `+` joins, with `…` for each value in them.
struct SourceText {
    /// The file and the line.
    var place = ""
    /// The type or extension at the left margin.
    var owner = ""
    /// The call, its first argument if that is a code, and the label of the text.
    var call = ""
    var code = ""
    var label = ""
    var text = ""
}

/// The texts of all errors, as they are in the sources.
///
/// `TIDEMARK_ERRORS=1` prints them in one list. `tools/tidy` checks their words.
@Suite struct ErrorMessageTests {
    /// The types of errors whose texts are sentences.
    private static let sentences: Set<String> = [
        "BlobError", "BodyError", "CKError", "CommandError", "EventFormatError", "Failure",
        "FileError", "JSONError", "LogError", "PredicateError", "SchemaProblem",
        "SchemaSyntaxError", "SyncError", "ValidationError", "ViewIndexError", "WebError",
        "WebFilterError",
    ]
    /// The types whose texts stand in the sentence of another error.
    private static let clauses: Set<String> = [
        "QueryIndexError", "UnreadableMessage", "WireFormError",
    ]
    /// The types that have no text, or one that is made from others.
    private static let silent: Set<String> = [
        "AccessRefusal", "BodyTimeout", "ClosedPipe", "Damage", "DecodingFailure", "FormatRefusal",
        "Malformed",
        "PieceTooLong", "Refusal", "ReplayError", "TokenDefect", "UnsupportedArgument",
    ]
    /// Texts that are CloudKit's own, and one that every failure of the server itself has.
    private static let fixed: Set<String> = [
        "Authentication failed", "Invalid continuation format",
        "Unknown sync continuation type", "User not found", "cannot get changes in default zone",
        "could not find handler for endpoint …",
        "encrypted fields are not supported in the public database: field '…' for type '…'.",
        "endpoint not applicable in the database type '…db'",
        "invalid attempt to set value type … for field '…' for type '…', defined to be: …. "
            + "A field keeps the type of its first value; save a value of that type, or use "
            + "another field.",
        "request needs authorization",
        "subscription is duplicate of '…': \"…\" asks for the same changes of the same records. "
            + "Save it under that id, or delete that one first.",
        "The server failed",
    ]

    private struct Message {
        let type: String
        let text: SourceText

        /// The message, if a literal is one of an error or its remedy.
        init?(_ text: SourceText) {
            let known = ErrorMessageTests.sentences.union(ErrorMessageTests.clauses)
            switch text.call {
            case let call where known.contains(call): type = call
            case "init" where known.contains(text.owner): type = text.owner
            case "badRequest", "notFound", "accessDenied", "refusedCredential", "throttled":
                type = "WebError"
            case "permissionFailure": type = "SyncError"
            default:
                let isSentence = text.text.hasSuffix(".") && text.text.first?.isLowercase == false
                let isOwn =
                    text.call.isEmpty && known.union(ErrorMessageTests.silent).contains(text.owner)
                guard text.label == "remedy" || isOwn && isSentence else { return nil }
                type = text.owner
            }
            self.text = text
        }

        var line: String { "\(type) \(text.code): \(text.text) [\(text.place)]" }

        /// The rule that the text breaks.
        var problem: String? {
            let words = text.text
            guard !ErrorMessageTests.fixed.contains(words) else { return nil }
            let lower = words.lowercased()
            if words.contains("!") { return "exclaims" }
            if lower.contains("please") { return "says please" }
            for word in ["invalid", "not valid", "not a valid"] {
                guard let found = lower.range(of: word) else { continue }
                let rest = String(lower[found.upperBound...])
                let isExplained = rest.contains(": ") || rest.contains("; ") || rest.contains(". ")
                if !isExplained { return "does not say what was expected" }
            }
            let isWhole = ["", "remedy", "description", "message"].contains(text.label)
            if !isWhole || ErrorMessageTests.clauses.contains(type) { return nil }
            // A place before a colon is not part of the sentence.
            let place = words.range(of: ": ").map { words[..<$0.lowerBound].split(separator: " ") }
            if words.first?.isLowercase == true, (place?.count ?? .max) > 2 {
                return "does not begin with a capital letter"
            }
            let isEnded = words.hasSuffix(".") || words.hasSuffix("…") || words.hasSuffix("…)")
            return isEnded ? nil : "does not end with a full stop"
        }
    }

    /// The texts of all sources, and the types that are errors.
    private struct Sources {
        var texts: [SourceText] = []
        var errors: Set<String> = []

        init() throws {
            let root = URL(filePath: #filePath).deletingLastPathComponent()
                .appending(path: "../../Sources").standardizedFileURL
            let files = try #require(FileManager.default.enumerator(atPath: root.path))
            for case let path as String in files
            where path.hasSuffix(".swift") && !path.contains(".docc/") {
                let source = try String(contentsOf: root.appending(path: path), encoding: .utf8)
                var reader = SourceReader(source, file: path)
                reader.read()
                texts += reader.texts
                errors.formUnion(reader.errors)
            }
        }
    }

    private static let sources = Result { try Sources() }

    @Test func `Every error message is a sentence, and has one spelling`() throws {
        let messages = try Self.sources.get().texts.compactMap { Message($0) }
        // If the sources are written in another way, the reader must not pass by finding nothing.
        #expect(messages.count > 800, "\(messages.count)")
        let found = Set(messages.map(\.text.text))
        #expect(Self.fixed.isSubset(of: found), "\(Self.fixed.subtracting(found))")
        var spellings: [String: String] = [:]
        for message in messages {
            if let problem = message.problem { Issue.record("\(problem): \(message.line)") }
            let text = message.text.text
            let letters = text.lowercased().filter { $0.isLetter || $0 == "…" }
            let values = text.filter { $0 == "…" }.count
            guard letters.count - values > 15 else { continue }
            let key = "\(letters.filter(\.isLetter)) \(values)"
            if let other = spellings.updateValue(text, forKey: key) {
                #expect(other == text, "two spellings")
            }
        }
        if ProcessInfo.processInfo.environment["TIDEMARK_ERRORS"] == "1" {
            print(messages.map(\.line).sorted().joined(separator: "\n"))
        }
    }

    @Test func `Every type of errors is known`() throws {
        let known = Self.sentences.union(Self.clauses).union(Self.silent)
        // The one error of another package that has texts here.
        let own = known.subtracting(["ValidationError"])
        let errors = try Self.sources.get().errors
        #expect(errors.subtracting(own).isEmpty, "Add these: \(errors.subtracting(own))")
        #expect(own.subtracting(errors).isEmpty, "Remove these: \(own.subtracting(errors))")
    }
}

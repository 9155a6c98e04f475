// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkAdministration
import TidemarkLog
import TidemarkModel

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// The move that a person makes along the log.
enum StepCommand: Equatable {
    case next
    case previous
    case go(SequenceNumber)
    case quit
    /// Something else.
    case unknown(String)

    /// Reads a line: `n` or nothing, `p`, `g` and a number, `q`.
    init(_ line: String) {
        let words = line.split(whereSeparator: \.isWhitespace)
        switch (words.first.map(String.init), words.count) {
        case (nil, _), ("n", 1): self = .next
        case ("p", 1): self = .previous
        case ("q", 1): self = .quit
        case ("g", 2):
            self = UInt64(words[1]).map { .go(SequenceNumber(rawValue: $0)) } ?? .unknown(line)
        default: self = .unknown(line)
        }
    }

    /// The next line of standard input; `nil` at its end.
    static func read(isAsking: Bool) -> StepCommand? {
        // A prompt that cannot be written does no harm.
        if isAsking { try? writeAll(Array("> ".utf8)[...], to: STDERR_FILENO, name: "the prompt") }
        return readLine().map { StepCommand($0) }
    }
}

/// Prints events of the log, each with the state of the record that it is about.
struct StepPrinter: ~Copyable {
    private var printer: LinePrinter
    /// True if a person types the commands.
    let isAsking: Bool

    init(_ options: OutputOptions) {
        printer = LinePrinter(options)
        isAsking = isatty(STDIN_FILENO) == 1
    }

    /// Prints a step, or the reason why there is none.
    mutating func print(_ step: StepCall.Answer?, orSay text: String) throws {
        guard let step, let event = step.event else { return note(text) }
        try printer.print { bytes in
            bytes.append(literal: "{\"event\":")
            bytes.append(json: event)
            bytes.append(record: "before", step.before)
            bytes.append(record: "record", step.record)
            bytes.append(literal: "}")
        } lines: { ink in
            [ink.text(event.text, .heading)] + step.state(ink)
        }
        try printer.flush()
    }
}

extension [UInt8] {
    fileprivate mutating func append(record member: StaticString, _ record: Record?) {
        append(member: member)
        if let record { append(json: record) } else { append(literal: "null") }
    }
}

extension StepCall.Answer {
    /// Returns the record's fields, one per line; changed fields include their old values.
    fileprivate func state(_ ink: Ink) -> [String] {
        let old = fields(of: before)
        let new = fields(of: record)
        let names = Set(old.keys).union(new.keys).sorted()
        let width = names.map(\.string.count).max() ?? 0
        return names.map { name in
            let space = String(repeating: " ", count: width - name.string.count)
            return "    \(name.string.printable)\(space)  \(Self.sides(old[name], new[name], ink))"
        }
    }

    private func fields(of record: Record?) -> [Name: Fields.Element] {
        var fields: [Name: Fields.Element] = [:]
        for field in record?.fields ?? Fields() where !field.isRemoved {
            fields[Name(field.name)] = field
        }
        return fields
    }

    private static func sides(_ old: Fields.Element?, _ new: Fields.Element?, _ ink: Ink) -> String
    {
        switch (old, new) {
        case (let old?, let new?) where old.value == new.value: new.shortText
        case (let old?, let new?):
            "\(ink.text(old.shortText, .removed)) → \(ink.text(new.shortText, .added))"
        case (let old?, nil): "\(ink.text(old.shortText, .removed)) → removed"
        case (nil, let new?): ink.text(new.shortText, .added)
        case (nil, nil): ""
        }
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Colours for a person at a terminal; no colours in other output.
struct Ink {
    /// The meaning of a colour; raw values are the terminal's codes.
    enum Colour: Int {
        case removed = 31
        case added = 32
        case position = 33
        case heading = 36
        case aside = 2
    }

    private let isOn: Bool

    /// Colours for an output: none where it is no terminal, or `NO_COLOR` is set, or the terminal is
    /// a dumb one.
    init(
        _ output: borrowing StandardOutput,
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) {
        self.init(isTerminal: output.isTerminal, environment)
    }

    init(isTerminal: Bool, _ environment: [String: String]) {
        // By the convention of no-color.org, an empty variable does not count.
        isOn =
            isTerminal && environment["NO_COLOR", default: ""].isEmpty
            && environment["TERM"] != "dumb"
    }

    /// A text in a colour.
    func text(_ text: String, _ colour: Colour) -> String {
        isOn && !text.isEmpty ? "\u{1B}[\(colour.rawValue)m\(text)\u{1B}[0m" : text
    }
}

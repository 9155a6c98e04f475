// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// Bounds on the input that errors echo, so that bad input does not fill the terminal.
extension String {
    /// The number of characters of an input to echo.
    static var echoCount: Int { 200 }

    /// The text as it is, or its beginning and how long it is.
    var echoed: String {
        let count = count
        guard count > Self.echoCount else { return self }
        return "\(prefix(Self.echoCount))… (\(Self.grouped(count)) characters)"
    }

    /// Returns the message with at most a bounded part of each of the inputs.
    ///
    /// If an input is not found in the message, the middle of a long line is removed: its beginning
    /// states the place of the problem, its end the remedy.
    func bounded(echoing inputs: [String]) -> String {
        var message = self
        for input in inputs {
            // An option and its value may be one argument.
            let parts =
                [input]
                + (input.firstIndex(of: "=").map { [String(input[input.index(after: $0)...])] }
                    ?? [])
            // Counted in bytes, which needs no pass over the text. `echoed` decides by characters.
            for part in parts where part.utf8.count > Self.echoCount {
                // An error may quote an input as it is, or with its control characters replaced.
                for form in [part, part.printable] {
                    message = message.replacing(form, with: part.echoed)
                }
            }
        }
        guard message.utf8.count > Self.longLineCount else { return message }
        return message.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            let count = line.count
            guard count > Self.longLineCount else { return String(line) }
            return "\(line.prefix(Self.echoCount))… (\(Self.grouped(count)) characters) …"
                + line.suffix(2 * Self.echoCount)
        }.joined(separator: "\n")
    }

    private static var longLineCount: Int { 2_000 }

    private static func grouped(_ number: Int) -> String {
        var digits = String(number)
        var end = digits.count - 3
        while end > 0 {
            digits.insert(",", at: digits.index(digits.startIndex, offsetBy: end))
            end -= 3
        }
        return digits
    }
}

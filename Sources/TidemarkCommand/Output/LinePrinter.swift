// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// Prints results: for programs each as an object on a line, for people as lines of text.
struct LinePrinter: ~Copyable {
    private var output = StandardOutput()
    private let isJSON: Bool
    private let ink: Ink

    init(_ options: OutputOptions) {
        isJSON = options.isJSON(output)
        ink = Ink(output)
    }

    /// Prints one result: the JSON that a closure appends, or the lines that another one returns.
    mutating func print(json: (inout [UInt8]) -> Void, lines: (Ink) -> [String]) throws {
        if isJSON {
            try output.line(json)
        } else {
            for line in lines(ink) { try output.line(line) }
        }
    }

    /// Hands on everything printed so far.
    mutating func flush() throws {
        try output.flush()
    }
}

extension OutputOptions {
    /// Prints one result as ``LinePrinter`` does.
    func print(json: (inout [UInt8]) -> Void, lines: (Ink) -> [String]) throws {
        var printer = LinePrinter(self)
        try printer.print(json: json, lines: lines)
        try printer.flush()
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkModel

extension OutputOptions {
    /// Prints texts, such as changes of a schema in words, one to a line.
    func print(_ texts: [String], as member: StaticString = "change") throws {
        var printer = LinePrinter(self)
        for text in texts {
            try printer.print { line in
                line.append(literal: "{")
                line.append(member: member, jsonString: text)
                line.append(literal: "}")
            } lines: { _ in
                [text]
            }
        }
        try printer.flush()
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkModel

/// Numbers under names, in the order in which they are to be read; each value is a JSON number.
typealias Figures = [(name: StaticString, value: String)]

extension [UInt8] {
    /// Appends figures as one object.
    mutating func append(json figures: Figures) {
        append(UInt8(ascii: "{"))
        for figure in figures {
            append(member: figure.name)
            // Not escaped: the value is JSON already.
            append(contentsOf: figure.value.utf8)
        }
        append(UInt8(ascii: "}"))
    }
}

/// Returns the number of raw bytes for each stored byte, with two decimal digits.
func ratioText(_ raw: UInt64, _ stored: UInt64) -> String {
    guard stored > 0 else { return "0.00" }
    // Whole numbers round the same on every machine and need no formatter.
    let hundredths = (raw * 100 + stored / 2) / stored
    let rest = hundredths % 100
    return "\(hundredths / 100).\(rest < 10 ? "0" : "")\(rest)"
}

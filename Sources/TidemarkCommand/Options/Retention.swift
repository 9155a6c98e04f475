// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tidemark

/// Milliseconds by the first letters of seconds, minutes, hours, days, weeks and years.
private let units: [Character: Int64] = [
    "s": 1000, "m": 60 * 1000, "h": 60 * 60 * 1000, "d": 24 * 60 * 60 * 1000,
    "w": 7 * 24 * 60 * 60 * 1000, "y": 365 * 24 * 60 * 60 * 1000,
]

/// Reads how long something is kept: `all`, `none`, or a duration such as `30d`.
func retention(_ text: String) throws -> CompactionPolicy.Retention {
    switch text {
    case "all": return .all
    case "none": return .none
    default:
        guard let milliseconds = milliseconds(text) else {
            throw ValidationError(
                """
                '\(text)' is not how long something is kept: all, none, or a number and s, m, h, d, \
                w or y, such as 12h or 30d.
                """
            )
        }
        // An overflowing product is longer than the age of any store.
        return milliseconds == .max ? .all : .atLeast(.milliseconds(milliseconds))
    }
}

/// Reads a duration such as `30s`.
func duration(_ text: String) throws -> Duration {
    guard let milliseconds = milliseconds(text) else {
        throw ValidationError(
            "'\(text)' is not a duration: a number and ms, s, m, h, d, w or y, such as 30s or 5m."
        )
    }
    return .milliseconds(min(milliseconds, Int64.max / 4))
}

/// The milliseconds of a number and a unit, at most as many as there are numbers for; `nil` for anything
/// else.
private func milliseconds(_ text: String) -> Int64? {
    // Before the table, in which the last letter of `ms` means seconds.
    let isMilliseconds = text.hasSuffix("ms")
    guard let unit = isMilliseconds ? 1 : text.last.flatMap({ units[$0] }),
        // `Int64` would accept a sign, which a duration must not have.
        text.first?.isNumber ?? false, let number = Int64(text.dropLast(isMilliseconds ? 2 : 1))
    else { return nil }
    let (product, overflow) = number.multipliedReportingOverflow(by: unit)
    return overflow ? .max : product
}

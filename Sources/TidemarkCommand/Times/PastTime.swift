// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TidemarkModel

/// Times of the past as the command line takes them: RFC 3339, a date, or an age.
enum PastTime {
    /// The forms, for errors.
    static let forms = """
        an RFC 3339 time with its offset (2026-02-03T04:05:06Z), a date (2026-02-03, its start in \
        UTC), or an age ('10 minutes ago': seconds, minutes, hours, days or weeks)
        """

    /// Returns milliseconds since 1970; `nil` if the text has none of the forms.
    ///
    /// `now` is called only for an age. An age that reaches back too far becomes the earliest time
    /// that can be represented.
    static func milliseconds(_ text: String, now: () -> Int64 = wallClock) -> Int64? {
        if let time = RFC3339.milliseconds(text) { return time }
        // Only a date fits here: with a time of its own, the text would have two.
        if let start = RFC3339.milliseconds("\(text)T00:00:00Z") { return start }
        let words = text.split(separator: " ")
        guard words.count == 3, words[2] == "ago", let unit = units[singular(words[1])],
            words[0].utf8.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }),
            let count = Int64(words[0])
        else { return nil }
        let (age, isTooLong) = count.multipliedReportingOverflow(by: unit)
        let (time, isTooEarly) = now().subtractingReportingOverflow(age)
        return isTooLong || isTooEarly ? .min : time
    }

    /// The machine's clock, in milliseconds since 1970.
    static func wallClock() -> Int64 {
        Int64((Date().timeIntervalSince1970 * 1000).rounded(.down))
    }

    private static let units: [Substring: Int64] = [
        "second": 1000, "minute": 60_000, "hour": 3_600_000, "day": 86_400_000,
        "week": 604_800_000,
    ]

    private static func singular(_ unit: Substring) -> Substring {
        unit.hasSuffix("s") ? unit.dropLast() : unit
    }
}

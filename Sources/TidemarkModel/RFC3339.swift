// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// Times as people write them: RFC 3339, to the millisecond.
package enum RFC3339 {
    /// Milliseconds since 1970 of a time such as `2026-02-03T04:05:06.789+01:00`.
    ///
    /// Strict: date, `T`, time and offset must all be there. Digits after the millisecond are cut
    /// off, so that the result is never after the time that was written. A leap second counts as
    /// the first second of the next minute.
    package static func milliseconds(_ text: String) -> Int64? {
        var scanner = DigitScanner(text)
        guard
            let year = scanner.number(digits: 4), scanner.skip("-"),
            let month = scanner.number(digits: 2), 1...12 ~= month, scanner.skip("-"),
            let day = scanner.number(digits: 2), 1...dayCount(year: year, month: month) ~= day,
            scanner.skip("T") || scanner.skip("t"),
            let hour = scanner.number(digits: 2), hour <= 23, scanner.skip(":"),
            let minute = scanner.number(digits: 2), minute <= 59, scanner.skip(":"),
            let second = scanner.number(digits: 2), second <= 60,
            let fraction = scanner.fraction(),
            let offset = scanner.offsetMinutes(),
            scanner.isAtEnd
        else { return nil }
        let days = daysSince1970(year: year, month: month, day: day)
        // Four digits of a year and two of the rest keep all of this far from overflowing.
        let minutes = (days * 24 + hour) * 60 + minute - offset
        return (minutes * 60 + second) * 1000 + fraction
    }

    /// The time in UTC, with three digits after the second unless they are all zero.
    package static func text(milliseconds: Int64) -> String {
        var text: [UInt8] = []
        append(milliseconds: milliseconds, to: &text)
        return String(decoding: text, as: UTF8.self)
    }

    /// Appends the text of a time; with `isFixedWidth`, always with the digits after the second.
    package static func append(
        milliseconds: Int64,
        isFixedWidth: Bool = false,
        to text: inout [UInt8]
    ) {
        let (days, inDay) = flooredDivision(milliseconds, by: 86_400_000)
        let (year, month, day) = date(daysSince1970: days)
        let seconds = inDay / 1000
        let fraction = inDay % 1000
        if year < 0 { text.append(UInt8(ascii: "-")) }
        append(year.magnitude, digits: 4, to: &text)
        text.append(UInt8(ascii: "-"))
        append(month.magnitude, digits: 2, to: &text)
        text.append(UInt8(ascii: "-"))
        append(day.magnitude, digits: 2, to: &text)
        text.append(UInt8(ascii: "T"))
        append((seconds / 3600).magnitude, digits: 2, to: &text)
        text.append(UInt8(ascii: ":"))
        append((seconds / 60 % 60).magnitude, digits: 2, to: &text)
        text.append(UInt8(ascii: ":"))
        append((seconds % 60).magnitude, digits: 2, to: &text)
        if fraction != 0 || isFixedWidth {
            text.append(UInt8(ascii: "."))
            append(fraction.magnitude, digits: 3, to: &text)
        }
        text.append(UInt8(ascii: "Z"))
    }

    /// Appends at least a number of digits.
    private static func append(_ value: UInt64, digits: Int, to text: inout [UInt8]) {
        if digits > 1 || value > 9 { append(value / 10, digits: digits - 1, to: &text) }
        text.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: value % 10))
    }

    // Counting years from March makes the leap day the last one, so that a month's first day in
    // its year is a linear function. 400 years have 146,097 days.

    private static func daysSince1970(year: Int64, month: Int64, day: Int64) -> Int64 {
        let (era, yearOfEra) = flooredDivision(month <= 2 ? year - 1 : year, by: 400)
        // From March on, each run of five months has 153 days.
        let monthFromMarch = (month + 9) % 12
        let dayOfYear = (153 * monthFromMarch + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        // 719,468 days lie between March 1 of the year 0 and January 1, 1970.
        return era * 146_097 + dayOfEra - 719_468
    }

    private static func date(daysSince1970 days: Int64) -> (Int64, Int64, Int64) {
        let (era, dayOfEra) = flooredDivision(days + 719_468, by: 146_097)
        // The corrections remove the leap days before this day, so that each year has 365.
        let yearOfEra =
            (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        return (era * 400 + yearOfEra + (month <= 2 ? 1 : 0), month, day)
    }

    private static func dayCount(year: Int64, month: Int64) -> Int64 {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    private static func flooredDivision(_ value: Int64, by divisor: Int64) -> (Int64, Int64) {
        // Swift rounds towards zero. Times before 1970 would be assigned to the day after their
        // own.
        let (quotient, remainder) = value.quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}

/// Walks over the ASCII of a time.
private struct DigitScanner {
    private var rest: Substring.UTF8View

    init(_ text: String) {
        rest = Substring(text).utf8
    }

    var isAtEnd: Bool { rest.isEmpty }

    mutating func skip(_ character: Unicode.Scalar) -> Bool {
        guard let first = rest.first, UInt32(first) == character.value else { return false }
        rest.removeFirst()
        return true
    }

    mutating func number(digits count: Int) -> Int64? {
        var value: Int64 = 0
        for _ in 0..<count {
            guard let digit = digit() else { return nil }
            value = value * 10 + digit
        }
        return value
    }

    /// The milliseconds after a point; zero without a point, `nil` for a point without digits.
    mutating func fraction() -> Int64? {
        guard skip(".") else { return 0 }
        var value: Int64 = 0
        var count = 0
        while let digit = digit() {
            if count < 3 { value = value * 10 + digit }
            count += 1
        }
        guard count > 0 else { return nil }
        for _ in count..<max(3, count) { value *= 10 }
        return value
    }

    /// Minutes east of UTC.
    mutating func offsetMinutes() -> Int64? {
        if skip("Z") || skip("z") { return 0 }
        let isEast = skip("+")
        guard isEast || skip("-"),
            let hours = number(digits: 2), hours <= 23, skip(":"),
            let minutes = number(digits: 2), minutes <= 59
        else { return nil }
        return (isEast ? 1 : -1) * (hours * 60 + minutes)
    }

    private mutating func digit() -> Int64? {
        guard let first = rest.first, UInt8(ascii: "0")...UInt8(ascii: "9") ~= first else {
            return nil
        }
        rest.removeFirst()
        return Int64(first - UInt8(ascii: "0"))
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkModel

/// Substitutes for values: random, of the same type and length, and equal for equal values.
///
/// The substitute for a value is drawn when the value is first met. So it reveals only the value's
/// type and length, and which values are equal.
struct ValueMask {
    private var random: any RandomNumberGenerator
    private var texts: [Name: String] = [:]
    private var takenTexts: Set<Name> = []
    private var numbers: [String: String] = [:]
    private var takenNumbers: Set<String> = []
    private var blobs: [[UInt8]: [UInt8]] = [:]
    /// The number of redraws if a substitute is already used: there are few distinct short values.
    private static let attemptCount = 1_000

    init(_ random: any RandomNumberGenerator) {
        self.random = random
    }

    /// A text of as many bytes, of small letters.
    mutating func text(_ text: String) -> String {
        let name = Name(text)
        if name.byteCount == 0 { return text }
        if let known = texts[name] { return known }
        var drawn = name
        for _ in 0..<Self.attemptCount {
            drawn = Name(
                String(
                    decoding: (0..<name.byteCount).map { _ in
                        UInt8.random(in: UInt8(ascii: "a")...UInt8(ascii: "z"), using: &random)
                    },
                    as: UTF8.self
                )
            )
            // Different texts get different substitutes, so that names stay distinct and references
            // still lead to their targets.
            if drawn != name, !takenTexts.contains(drawn) { break }
        }
        // After the last attempt, the substitute may be one that another value has.
        takenTexts.insert(drawn)
        texts[name] = drawn.string
        return drawn.string
    }

    /// A number of as many digits, and the same sign and point.
    private mutating func digits(_ number: String) -> String {
        if let known = numbers[number] { return known }
        var drawn = number
        for _ in 0..<Self.attemptCount {
            var isFirst = true
            drawn = String(
                decoding: number.utf8.map { byte in
                    guard UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte else { return byte }
                    // A number that begins with another digit than zero does so still.
                    let low = UInt8(ascii: isFirst && byte != UInt8(ascii: "0") ? "1" : "0")
                    isFirst = false
                    return UInt8.random(in: low...UInt8(ascii: "9"), using: &random)
                },
                as: UTF8.self
            )
            if drawn != number, !takenNumbers.contains(drawn) { break }
        }
        takenNumbers.insert(drawn)
        numbers[number] = drawn
        return drawn
    }

    /// A whole number of as many digits.
    mutating func number(_ number: Int64) -> Int64 {
        // The longest ones may come out too large.
        let text = "\(number)"
        return Int64(digits(text)) ?? Int64(digits(String(text.dropLast()))) ?? number
    }

    /// A number of as many digits.
    mutating func number(_ number: Double) -> Double {
        // The exponent stays unchanged.
        let parts = "\(number)".split(separator: "e", maxSplits: 1)
        guard let first = parts.first else { return number }
        let mantissa = digits(String(first))
        guard parts.count == 2, let exponent = Int(parts[1]) else {
            return Double(mantissa) ?? number
        }
        if let drawn = Double("\(mantissa)e\(exponent)"), drawn.isFinite { return drawn }
        // The largest ones may come out too large.
        return Double("\(mantissa)e\(exponent - 1)") ?? number
    }

    /// As many bytes.
    mutating func bytes(_ bytes: [UInt8]) -> [UInt8] {
        if let known = blobs[bytes] { return known }
        let drawn = bytes.map { _ in UInt8.random(in: .min ... .max, using: &random) }
        blobs[bytes] = drawn
        return drawn
    }

    /// A place that is somewhere else.
    mutating func location(_ location: Location) -> Location {
        var masked = location
        // Other digits may lead out of the range of a coordinate.
        masked.latitude = number(location.latitude).truncatingRemainder(dividingBy: 90)
        masked.longitude = number(location.longitude).truncatingRemainder(dividingBy: 180)
        masked.altitude = location.altitude.map { number($0) }
        masked.horizontalAccuracy = location.horizontalAccuracy.map { number($0) }
        masked.verticalAccuracy = location.verticalAccuracy.map { number($0) }
        masked.course = location.course.map { number($0) }
        masked.speed = location.speed.map { number($0) }
        masked.timestamp = location.timestamp.map { number($0) }
        return masked
    }
}

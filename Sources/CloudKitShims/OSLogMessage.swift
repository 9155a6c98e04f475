// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The permission to log a value.
public struct OSLogPrivacy: Sendable {
    /// The text in place of a value that may not be logged.
    public enum Mask: Sendable {
        /// A number that equal values share.
        case hash
        /// No text: the value is left out.
        case none
    }

    let isPrivate: Bool
    let mask: Mask

    /// Shown.
    public static var `public`: OSLogPrivacy { .init(isPrivate: false, mask: .none) }
    /// Left out.
    public static var `private`: OSLogPrivacy { .init(isPrivate: true, mask: .none) }
    /// Left out.
    public static var sensitive: OSLogPrivacy { .init(isPrivate: true, mask: .none) }
    /// Shown.
    ///
    /// A log here is the program's own, as it is in a debugger on Apple's systems.
    public static var auto: OSLogPrivacy { .public }

    /// Left out, or a number that equal values share.
    public static func `private`(mask: Mask) -> OSLogPrivacy { .init(isPrivate: true, mask: mask) }
    /// Left out, or a number that equal values share.
    public static func sensitive(mask: Mask) -> OSLogPrivacy { .private(mask: mask) }
    /// Shown.
    public static func auto(mask: Mask) -> OSLogPrivacy { .public }

    func text(_ shown: @autoclosure () -> String) -> String {
        guard isPrivate else { return shown() }
        // Swift seeds its hashes anew in each process, so numbers of two processes cannot be
        // compared.
        return mask == .hash ? "<mask.hash: '\(shown().hashValue)'>" : "<private>"
    }
}

/// The width of a value in a message.
public struct OSLogStringAlignment: Sendable {
    let columns: Int

    /// The width of the value itself.
    public static var none: OSLogStringAlignment { .init(columns: 0) }
    /// Aligns the value at the left of a minimum number of columns.
    public static func left(columns: Int) -> OSLogStringAlignment { .init(columns: -columns) }
    /// Aligns the value at the right of a minimum number of columns.
    public static func right(columns: Int) -> OSLogStringAlignment { .init(columns: columns) }

    func text(_ value: String) -> String {
        let padding = String(repeating: " ", count: max(0, abs(columns) - value.count))
        return columns < 0 ? value + padding : padding + value
    }
}

/// The format of an integer in a message.
public struct OSLogIntegerFormatting: Sendable {
    let radix: Int
    var prefix = ""
    var isUppercase = false
    var minimumDigits = 0

    /// By tens.
    public static var decimal: OSLogIntegerFormatting { .init(radix: 10) }
    /// By sixteens.
    public static var hex: OSLogIntegerFormatting { .init(radix: 16) }
    /// By eights.
    public static var octal: OSLogIntegerFormatting { .init(radix: 8) }

    /// Formats in decimal, with a minimum number of digits.
    public static func decimal(minDigits: Int) -> OSLogIntegerFormatting {
        .init(radix: 10, minimumDigits: minDigits)
    }

    /// By sixteens.
    public static func hex(
        includePrefix: Bool = false,
        uppercase: Bool = false,
        minDigits: Int = 0
    ) -> OSLogIntegerFormatting {
        .init(
            radix: 16,
            prefix: includePrefix ? "0x" : "",
            isUppercase: uppercase,
            minimumDigits: minDigits
        )
    }

    func text(_ value: some FixedWidthInteger) -> String {
        let digits = String(value.magnitude, radix: radix, uppercase: isUppercase)
        let zeros = String(repeating: "0", count: max(0, minimumDigits - digits.count))
        return (value < 0 ? "-" : "") + prefix + zeros + digits
    }
}

/// The format of a number with a fraction in a message.
public struct OSLogFloatFormatting: Sendable {
    let format: String

    /// With six digits of the fraction.
    public static var fixed: OSLogFloatFormatting { .init(format: "%f") }
    /// With digits of the fraction.
    public static func fixed(precision: Int) -> OSLogFloatFormatting {
        .init(format: "%.\(precision)f")
    }
    /// With an exponent.
    public static var exponential: OSLogFloatFormatting { .init(format: "%e") }
    /// Formats with an exponent if that is shorter.
    public static var hybrid: OSLogFloatFormatting { .init(format: "%g") }
}

/// A message with values in it.
public struct OSLogMessage: ExpressibleByStringInterpolation, Sendable {
    let text: String

    /// Creates a message without values.
    public init(stringLiteral value: String) {
        text = value
    }

    /// Creates a message with values.
    public init(stringInterpolation: OSLogInterpolation) {
        text = stringInterpolation.text
    }
}

/// A collector of the parts of a message.
public struct OSLogInterpolation: StringInterpolationProtocol, Sendable {
    fileprivate var text = ""

    /// Creates an empty message.
    public init(literalCapacity: Int, interpolationCount: Int) {}

    /// Appends text of the program.
    public mutating func appendLiteral(_ literal: String) {
        text += literal
    }

    /// Appends a value as it describes itself.
    public mutating func appendInterpolation<Value>(
        _ value: @autoclosure () -> Value,
        align: OSLogStringAlignment = .none,
        privacy: OSLogPrivacy = .auto
    ) {
        text += privacy.text(align.text(String(describing: value())))
    }

    /// Appends a whole number.
    public mutating func appendInterpolation(
        _ value: @autoclosure () -> some FixedWidthInteger,
        format: OSLogIntegerFormatting,
        align: OSLogStringAlignment = .none,
        privacy: OSLogPrivacy = .auto
    ) {
        text += privacy.text(align.text(format.text(value())))
    }

    /// Appends a number with a fraction.
    public mutating func appendInterpolation(
        _ value: @autoclosure () -> some BinaryFloatingPoint,
        format: OSLogFloatFormatting,
        align: OSLogStringAlignment = .none,
        privacy: OSLogPrivacy = .auto
    ) {
        text += privacy.text(align.text(String(format: format.format, Double(value()))))
    }
}

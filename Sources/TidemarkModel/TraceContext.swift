// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The place of a request in a distributed trace, by W3C Trace Context.
///
/// A commit keeps it, so that `log dump` and the trace of an error can be matched.
public struct TraceContext: Hashable, Sendable {
    /// The upper half of the trace's id.
    package let traceHigh: UInt64
    /// The lower half of the trace's id.
    package let traceLow: UInt64
    /// The id of the span that the request belongs to.
    package let parent: UInt64
    /// The flags; bit 0 is set if the trace is recorded.
    package let flags: UInt8

    package init(traceHigh: UInt64, traceLow: UInt64, parent: UInt64, flags: UInt8) {
        self.traceHigh = traceHigh
        self.traceLow = traceLow
        self.parent = parent
        self.flags = flags
    }

    /// Reads a `traceparent` header; `nil` if it is malformed, or names no trace or no span.
    ///
    /// For an unknown version, reads the first four parts, as W3C Trace Context requires.
    public init?(traceparent: String) {
        // The fifth part holds everything that a later version adds.
        let parts = traceparent.utf8.split(
            separator: UInt8(ascii: "-"),
            maxSplits: 4,
            omittingEmptySubsequences: false
        )
        // The specification declares version ff and ids of zeros invalid. Version 00 has exactly
        // four parts.
        guard parts.count >= 4, let version = Self.number(parts[0], digitCount: 2), version != 0xFF,
            version != 0 || parts.count == 4, parts[1].count == 32,
            let high = Self.number(parts[1].prefix(16), digitCount: 16),
            let low = Self.number(parts[1].suffix(16), digitCount: 16), high | low != 0,
            let parent = Self.number(parts[2], digitCount: 16), parent != 0,
            let flags = Self.number(parts[3], digitCount: 2)
        else { return nil }
        self.init(
            traceHigh: high,
            traceLow: low,
            parent: parent,
            flags: UInt8(truncatingIfNeeded: flags)
        )
    }

    /// The value of a `traceparent` header.
    public var traceparent: String {
        "00-\(traceID)-\(Self.text(parent, digitCount: 16))-\(Self.text(UInt64(flags), digitCount: 2))"
    }

    /// The trace's id: 32 hexadecimal digits in lower case.
    public var traceID: String {
        Self.text(traceHigh, digitCount: 16) + Self.text(traceLow, digitCount: 16)
    }

    /// Hexadecimal digits in lower case are the only ones that the header may have.
    private static func number(_ digits: Substring.UTF8View, digitCount: Int) -> UInt64? {
        guard digits.count == digitCount else { return nil }
        var number: UInt64 = 0
        for digit in digits {
            let value: UInt8
            switch digit {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): value = digit - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): value = digit - UInt8(ascii: "a") + 10
            default: return nil
            }
            number = number << 4 | UInt64(value)
        }
        return number
    }

    private static func text(_ number: UInt64, digitCount: Int) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: digitCount - digits.count) + digits
    }
}

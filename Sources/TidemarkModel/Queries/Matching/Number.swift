// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// A number of either kind, compared by its exact value.
enum Number: Sendable {
    case whole(Int64)
    case real(Double)

    /// Below zero, zero or above it, as the first is less than, equal to or greater than the
    /// second.
    ///
    /// Nothing is rounded: 2^53 + 1 is greater than 2^53, whichever of them is whole.
    static func compare(_ first: Number, _ second: Number) -> Int {
        // Converting the integer to a double would round it above 2^53, so different numbers could
        // be equal.
        switch (first, second) {
        case (.whole(let left), .whole(let right)): order(left, right)
        case (.real(let left), .real(let right)): order(left, right)
        case (.whole(let left), .real(let right)): compare(left, right)
        case (.real(let left), .whole(let right)): -compare(right, left)
        }
    }

    private static func compare(_ whole: Int64, _ real: Double) -> Int {
        // Within these bounds the conversion to `Int64` below cannot trap. 2^63 itself is no
        // `Int64`, while -2^63 is.
        if real >= 0x1p63 { return -1 }
        if real < -0x1p63 { return 1 }
        let truncated = real.rounded(.towardZero)
        // If the whole parts are equal, the fraction decides.
        let order = order(whole, Int64(truncated))
        return order != 0 ? order : self.order(truncated, real)
    }

    static func order<Value: Comparable>(_ left: Value, _ right: Value) -> Int {
        // -0 equals 0 here. A NaN would equal everything, but no stored double and no constant is
        // one.
        left < right ? -1 : left > right ? 1 : 0
    }
}

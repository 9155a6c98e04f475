// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// One unbroken history of a store.
///
/// A random number, generated when a store is created, restored or forked, and at every open after
/// an unclean stop. With 64 bits, two stores or two lines of one store never share one in practice.
public struct Incarnation: RawRepresentable, Hashable, Codable, Sendable {
    /// The random number; never zero.
    public let rawValue: UInt64

    /// Wraps a number that was drawn or read.
    public init(rawValue: UInt64) {
        self.rawValue = rawValue
    }
}

extension Incarnation {
    /// The number in sixteen hexadecimal digits.
    package var text: String {
        let digits = String(rawValue, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The identity of a store: 128 random bits, generated when the store is created.
public struct StoreID: Hashable, Sendable {
    /// The first eight bytes, read as a little-endian number.
    public let low: UInt64
    /// The last eight bytes, read as a little-endian number.
    public let high: UInt64

    /// Wraps an id that was drawn or read.
    public init(low: UInt64, high: UInt64) {
        self.low = low
        self.high = high
    }
}

extension StoreID: CustomStringConvertible {
    /// 32 hexadecimal digits, in the order of the bytes on disk.
    public var description: String {
        func hexadecimal(_ word: UInt64) -> String {
            let digits = String(word.byteSwapped, radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }
        return hexadecimal(low) + hexadecimal(high)
    }
}

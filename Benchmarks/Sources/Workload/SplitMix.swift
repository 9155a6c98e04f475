// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// A small generator with a seed, so that every run and every contender meets the same work.
public struct SplitMix: RandomNumberGenerator, Sendable {
    private var state: UInt64

    /// Starts a sequence that the seed determines.
    public init(seed: UInt64) {
        state = seed
    }

    /// 64 random bits.
    public mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        return Self.mix(state)
    }

    /// A number from 0 up to a bound, with a bias too small to matter here.
    public mutating func below(_ bound: Int) -> Int {
        Int(next().multipliedFullWidth(by: UInt64(bound)).high)
    }

    /// Spreads a number over all 64 bits, one to one.
    public static func mix(_ number: UInt64) -> UInt64 {
        var bits = number
        bits = (bits ^ (bits >> 30)) &* 0xBF58_476D_1CE4_E5B9
        bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
        return bits ^ (bits >> 31)
    }
}

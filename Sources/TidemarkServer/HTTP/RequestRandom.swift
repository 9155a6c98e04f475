// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import Synchronization

/// A source of random numbers for the ids of requests, which are no secret.
///
/// SplitMix64 from a random beginning, which all copies share, so that no number comes twice. The
/// system's source takes a system call for each number.
struct RequestRandom: RandomNumberGenerator {
    private static let state = Atomic<UInt64>(.random(in: .min ... .max))

    mutating func next() -> UInt64 {
        var mixed = Self.state.wrappingAdd(0x9E37_79B9_7F4A_7C15, ordering: .relaxed).newValue
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }
}
#endif

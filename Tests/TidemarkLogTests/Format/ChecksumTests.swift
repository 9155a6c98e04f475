// Tidemark
// SPDX-License-Identifier: Apache-2.0

import CXXHash
import Testing

@testable import TidemarkLog

/// The hashes are part of the formats: these are the values that the published algorithm gives.
struct ChecksumTests {
    @Test func `The hash of empty input equals the published one`() {
        let empty: [UInt8] = []
        #expect(xxh3(empty.span.bytes, seed: 0) == 0x2D06_8005_38D3_94C2)
        let wide = xxh3Wide(empty.span.bytes, seed: 0)
        #expect(wide.high == 0x99AA_06D3_0147_98D8)
        #expect(wide.low == 0x6001_C324_468D_497F)
    }

    @Test func `Every seed, byte and length changes the hash`() {
        let bytes = [UInt8](0..<255)
        var seen: Set<UInt64> = []
        for seed: UInt64 in 0..<3 {
            for count in 0...bytes.count {
                seen.insert(xxh3(bytes.span.bytes.extracting(0..<count), seed: seed))
            }
        }
        #expect(seen.count == 3 * 256)
        var flipped = bytes
        flipped[200] ^= 1
        #expect(xxh3(flipped.span.bytes, seed: 0) != xxh3(bytes.span.bytes, seed: 0))
        let wide = xxh3Wide(bytes.span.bytes, seed: 7)
        let other = xxh3Wide(bytes.span.bytes, seed: 8)
        #expect(wide.low != other.low && wide.high != other.high)
    }

    @Test func `The hash does not depend on the instructions that compute it`() {
        let bytes = (0..<3_000).map { UInt8(truncatingIfNeeded: $0 &* $0 &* 31 &+ $0 / 7) }
        for (start, seed) in [(0, 0), (0, 42), (1, 0), (7, 42), (8, 42)] as [(Int, UInt64)] {
            for count in Array(0...600) + [1_023, 1_024, 1_025, 2_048, 2_991] {
                let part = bytes.span.bytes.extracting(start..<start + count)
                let (plain, wide) = part.withUnsafeBytes { bytes in
                    (
                        XXH3_64bits_withSeed(bytes.baseAddress, bytes.count, seed),
                        XXH3_128bits_withSeed(bytes.baseAddress, bytes.count, seed)
                    )
                }
                #expect(xxh3(part, seed: seed) == plain)
                #expect(xxh3Wide(part, seed: seed) == (wide.low64, wide.high64))
            }
        }
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

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
}

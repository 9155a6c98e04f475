// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Testing
import TidemarkLog

/// Integers that take as many bytes as they need.
@Suite struct VariableIntegerTests {
    private static func read(_ bytes: [UInt8], from start: Int = 0) -> (value: UInt64?, end: Int) {
        var offset = start
        let value = bytes.span.bytes.variableInteger(at: &offset)
        return (value, offset)
    }

    @Test func `Integers round-trip at any offset and with any bytes after them`() {
        var edges: [UInt64] = [.max]
        for bit in 0..<64 {
            let power = UInt64(1) << bit
            edges += [power - 1, power, power + 1]
        }
        for value in edges {
            for follower in [UInt8(0), 0x7F, 0x80, 0xFF] {
                var bytes: [UInt8] = [0x80]
                bytes.append(variableInteger: value)
                let end = bytes.count
                #expect(end - 1 == max(1, (64 - value.leadingZeroBitCount + 6) / 7))
                #expect(Self.read(bytes, from: 1) == (value, end))
                bytes.append(follower)
                #expect(Self.read(bytes, from: 1) == (value, end))
                // Cut off, it is nothing, and is not passed.
                for count in 1..<end {
                    #expect(Self.read(Array(bytes[..<count]), from: 1) == (nil, 1))
                }
            }
        }
    }

    @Test(arguments: [
        [0x80, 0x00], [0xFF, 0x00], [0x80, 0x80, 0x00],
        [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x02],
        [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01],
    ])
    func `Overlong encodings and more than 64 bits are rejected`(_ bytes: [UInt8]) {
        #expect(Self.read(bytes) == (nil, 0))
    }
}

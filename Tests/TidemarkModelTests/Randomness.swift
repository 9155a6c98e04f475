// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TestSupport

extension [UInt8] {
    /// The bytes with some of them changed, removed, doubled or cut off.
    func damaged(by generator: inout SeededGenerator) -> [UInt8] {
        var bytes = self
        for _ in 0...Int.random(in: 0..<3, using: &generator) {
            guard !bytes.isEmpty else { return bytes }
            let index = Int.random(in: 0..<bytes.count, using: &generator)
            switch Int.random(in: 0..<6, using: &generator) {
            case 0: bytes[index] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
            case 1: bytes[index] = .random(in: 0...255, using: &generator)
            case 2:
                bytes[index] =
                    [0, 1, 0x22, 0x5C, 0x7F, 0x80, 0xFF].randomElement(using: &generator) ?? 0
            case 3: bytes.remove(at: index)
            case 4: bytes.insert(bytes[index], at: index)
            default: bytes.removeLast(bytes.count - index)
            }
        }
        return bytes
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import TidemarkEvents
import TidemarkViews

@testable import TidemarkViews

/// The bytes of keys and values, as `Docs/formats/views.md` gives them.
struct ViewEntryFormatTests {
    private func bytes(of key: ViewKey) -> [UInt8] {
        var room = [UInt8](repeating: 0, count: 32)
        let count = room.withUnsafeMutableBytes { room in
            room.baseAddress.map { ViewEntryFormat.encode(key, at: $0) } ?? 0
        }
        return Array(room[..<count])
    }

    private func bytes(of value: ViewValue, _ key: ViewKey, _ table: ViewTable) -> [UInt8] {
        var room = [UInt8](repeating: 0, count: ViewEntryFormat.maximumValueByteCount)
        let count = room.withUnsafeMutableBytes { room -> Int in
            guard let start = room.baseAddress else { return 0 }
            return switch value {
            case .word(let word, let tag):
                ViewEntryFormat.encode(word, tag: tag, of: key, in: table, at: start)
            case .bytes(let bytes):
                ViewEntryFormat.encode(bytes[...], of: key, in: table, at: start)
            }
        }
        return Array(room[..<count])
    }

    private func value(_ bytes: [UInt8], _ key: ViewKey, _ table: ViewTable) -> ViewValue? {
        bytes.withUnsafeBytes { ViewEntryFormat.decodeValue($0, of: key, in: table) }
    }

    @Test func `Keys round-trip and sort by their bytes`() {
        var random = SeededGenerator(seed: 9)
        let keys = (0..<2000).map { _ in random.key() }.sorted()
        let encoded = keys.map(bytes)
        for (key, bytes) in zip(keys, encoded) {
            #expect(bytes.withUnsafeBytes { ViewEntryFormat.decodeKey($0) } == key)
            for count in 0..<bytes.count {
                #expect(bytes[..<count].withUnsafeBytes { ViewEntryFormat.decodeKey($0) } == nil)
            }
            #expect((bytes + [0]).withUnsafeBytes { ViewEntryFormat.decodeKey($0) } == nil)
        }
        for (left, right) in zip(encoded, encoded.dropFirst()) where left != right {
            #expect(left.lexicographicallyPrecedes(right))
        }
        #expect(bytes(of: ViewKey(0, 15)) == [0x00, 0x0F])
        #expect(bytes(of: ViewKey(16, 0x1234)) == [0x10, 0x10, 0x20, 0x12, 0x34])
        #expect(bytes(of: ViewKey(1 << 60, 0)) == [0x80, 0x10, 0, 0, 0, 0, 0, 0, 0, 0])
        #expect(bytes(of: ViewKey(.max, .max)).count == ViewEntryFormat.maximumKeyByteCount)
    }

    @Test func `Values round-trip, and only under their own key`() {
        var random = SeededGenerator(seed: 5)
        var missed = 0
        for _ in 0..<500 {
            let (key, content) = (random.key(), random.value())
            var bytes = bytes(of: content, key, .sync)
            #expect(value(bytes, key, .sync) == content)
            if value(bytes, key, .names) != nil { missed += 1 }
            if value(bytes, ViewKey(key.high, key.low ^ 1), .sync) != nil { missed += 1 }
            if value(bytes, ViewKey(key.high ^ 1, key.low), .sync) != nil { missed += 1 }
            for offset in 0..<min(bytes.count, 24) {
                bytes[offset] ^= 4
                if value(bytes, key, .sync) != nil { missed += 1 }
                bytes[offset] ^= 4
            }
        }
        // Sixteen bits let one accident in 65,536 pass; there were about 8,000.
        #expect(missed <= 2)
    }
}

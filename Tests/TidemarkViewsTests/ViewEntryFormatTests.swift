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

    private func bytes(of value: [UInt8], _ key: ViewKey) -> [UInt8] {
        var room = [UInt8](repeating: 0, count: ViewEntryFormat.maximumValueByteCount)
        let count = room.withUnsafeMutableBytes { room -> Int in
            guard let start = room.baseAddress else { return 0 }
            return ViewEntryFormat.encode(value[...], of: key, in: .zones, at: start)
        }
        return Array(room[..<count])
    }

    private func value(_ bytes: [UInt8], _ key: ViewKey, _ table: ViewTable) -> [UInt8]? {
        bytes.withUnsafeBytes { ViewEntryFormat.decodeBytes($0, of: key, in: table) }
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

    @Test func `Values of bytes round-trip, and only under their own key`() {
        var random = SeededGenerator(seed: 5)
        for _ in 0..<100 {
            let (key, content) = (random.key(), random.bytes())
            var bytes = bytes(of: content, key)
            #expect(value(bytes, key, .zones) == content)
            #expect(value(bytes, key, .names) == nil)
            #expect(value(bytes, ViewKey(key.high, key.low ^ 1), .zones) == nil)
            #expect(value(bytes, ViewKey(key.high ^ 1, key.low), .zones) == nil)
            for offset in 0..<min(bytes.count, 24) {
                bytes[offset] ^= 4
                #expect(value(bytes, key, .zones) == nil)
                bytes[offset] ^= 4
            }
        }
    }
}

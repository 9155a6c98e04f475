// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TidemarkEvents
import TidemarkLog
import TidemarkViews

@testable import TidemarkViews

/// The bytes that `Docs/formats/views.md` shows: an index written by one build is read by the
/// next, or refused, but never misread.
struct GoldenViewTests {
    /// What the golden file holds, by name, made afresh.
    private static func made() -> [String: String] {
        let checks = ViewChecks(
            store: .sample,
            transaction: 7,
            pageByteCount: 4096,
            metaHashes: [0x1111, 0x2222],
            chunks: [
                ViewChecks.Chunk(used: 0x0FFC, hash: 0x3333), ViewChecks.Chunk(used: 0, hash: 0),
            ]
        )
        let state = ViewState(transaction: 7, store: .sample, checkpoint: .at(300))
        let empty = ViewState(transaction: 1, store: .sample, checkpoint: nil)
        return [
            "checks": hexadecimal(checks.encoded),
            "state": hexadecimal(state.encoded),
            "stateOfEmpty": hexadecimal(empty.encoded),
            "namesGroup": group(
                [
                    (ViewKey(5, 0x0123_4567_89AB_CDEF), 300, 1),
                    (ViewKey(5, 0x0123_4567_89AC_0000), 299, 2),
                ],
                .names
            ),
            "syncGroup": group(
                [
                    (ViewKey(5, 299), 0x0123_4567_89AC_0000, 2),
                    (ViewKey(5, 300), 0x0123_4567_89AB_CDEF, 2),
                    (ViewKey(70_000, 301), 1, 2),
                ],
                .sync
            ),
            "oneEntry": group([(ViewKey(0, 0), 0, 0)], .requests),
            "widestEntries": group(
                [(ViewKey(0, .max), 0, 0), (ViewKey(.max, 0), .max, 255)],
                .references
            ),
            "zoneEntry": zoneEntry([0x61, 0x62, 0x63], ViewKey(5, 0)),
        ]
    }

    private static func group(
        _ entries: [(key: ViewKey, word: UInt64, tag: UInt8)],
        _ table: ViewTable
    ) -> String {
        let entries = entries.map {
            ViewBatch.Change(key: $0.key, word: $0.word, tag: $0.tag, form: .word)
        }
        var room = [UInt8](repeating: 0, count: EntryGroup.maximumByteCount + 8)
        return room.withUnsafeMutableBytes { room in
            guard let start = room.baseAddress, let shape = EntryGroup.shape(of: entries[...]),
                let last = entries.last
            else { return "" }
            let keyCount = ViewEntryFormat.encode(last.key, at: start)
            let keyText = hexadecimal([UInt8](room[..<keyCount]))
            let count = shape.write(entries, in: table, at: start)
            return keyText + ":" + hexadecimal([UInt8](room[..<count]))
        }
    }

    private static func zoneEntry(_ value: [UInt8], _ key: ViewKey) -> String {
        var room = [UInt8](repeating: 0, count: 64)
        return room.withUnsafeMutableBytes { room in
            guard let start = room.baseAddress else { return "" }
            let keyCount = ViewEntryFormat.encode(key, at: start)
            let keyText = hexadecimal([UInt8](room[..<keyCount]))
            let count = ViewEntryFormat.encode(value[...], of: key, in: .zones, at: start)
            return keyText + ":" + hexadecimal([UInt8](room[..<count]))
        }
    }

    private static func hexadecimal(_ bytes: [UInt8]) -> String {
        bytes.map { (($0 < 16 ? "0" : "") + String($0, radix: 16)) }.joined()
    }

    private static func kept() throws -> [String: String] {
        let file = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "Fixtures/v1/views.txt")
        var kept: [String: String] = [:]
        for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n") {
            let parts = line.split(separator: " ", maxSplits: 1)
            kept[String(parts[0])] = String(parts[1])
        }
        return kept
    }

    @Test func `Written bytes equal the golden file`() throws {
        let made = Self.made()
        #expect(try Self.kept() == made)
    }

    @Test func `The golden file is read`() throws {
        let kept = try Self.kept()
        func bytes(_ name: String) -> [UInt8] {
            let digits = Array(kept[name] ?? "")
            return stride(from: 0, to: digits.count, by: 2).compactMap {
                UInt8(String(digits[$0...$0 + 1]), radix: 16)
            }
        }
        let checks = try ViewChecks(bytes("checks"), "golden")
        #expect(checks.transaction == 7 && checks.store == .sample)
        #expect(checks.chunks.map(\.used) == [0x0FFC, 0])
        #expect(checks.usedByteCount == 12 * 4096)
        let state = try bytes("state").withUnsafeBytes { bytes throws(ViewIndexError) in
            try ViewState(bytes, "golden")
        }
        #expect(state.checkpoint == .at(300))
        let empty = try bytes("stateOfEmpty").withUnsafeBytes { bytes throws(ViewIndexError) in
            try ViewState(bytes, "golden")
        }
        #expect(empty.checkpoint == nil && empty.store == .sample)
    }

    @Test func `A truncated, flipped or unknown state is rejected`() throws {
        let sound = ViewState(transaction: 7, store: .sample, checkpoint: .at(300)).encoded
        var others = (0..<sound.count).map { Array(sound[..<$0]) } + [sound + [0]]
        for offset in sound.indices {
            others.append(sound)
            others[others.count - 1][offset] ^= 1
        }
        var newer = Array(sound.dropLast(8))
        newer[0] = UInt8(ViewState.formatVersion + 1)
        newer.append(integer: xxh3(newer.span.bytes, seed: 0))
        others.append(newer)
        for other in others {
            let error = #expect(throws: ViewIndexError.self) {
                try other.withUnsafeBytes { bytes throws(ViewIndexError) in
                    try ViewState(bytes, "golden")
                }
            }
            #expect(error?.reason == .damaged)
        }
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import TidemarkLog

/// One bit is turned over: it is found, or it can do no harm.
@Suite struct BitFlipTests {
    @Test func `No flipped bit of a sealed segment stays hidden`() throws {
        let store = try SmallStore(.closed)
        let path = try #require(store.segments.first)
        #expect(store.wrongToReader(store.disk) == nil)
        var wrong: [String] = []
        for byte in 0..<(try store.disk.contents(of: path).count) {
            for bit in runsLongTests ? Array(0..<8) : [byte % 8] {
                let disk = store.disk.crash(.keepingEverything)
                try disk.flipBit(path, at: byte, bit: bit)
                if let text = store.wrongToReader(disk, demandsDamage: true) {
                    wrong.append("byte \(byte), bit \(bit): \(text)")
                }
                guard bit == byte % 8, let text = store.wrong(disk, path) else { continue }
                wrong.append("byte \(byte), bit \(bit), opened: \(text)")
            }
        }
        #expect(wrong.prefix(5) == [])
    }

    @Test(arguments: SmallStore.End.all)
    func `No flipped bit of the active segment shortens the log`(_ end: SmallStore.End) throws {
        let store = try SmallStore(end)
        let path = try #require(store.segments.last)
        var wrong: [String] = []
        for byte in 0..<(try store.disk.contents(of: path).count) {
            for bit in runsLongTests ? Array(0..<8) : [byte % 8] {
                let disk = store.disk.crash(.keepingEverything)
                try disk.flipBit(path, at: byte, bit: bit)
                if let text = store.wrongToReader(disk) ?? store.wrong(disk, path) {
                    wrong.append("byte \(byte), bit \(bit): \(text)")
                }
            }
        }
        #expect(wrong.prefix(5) == [])
    }

    @Test(arguments: SmallStore.End.all)
    func `No flipped bit of the manifest or CURRENT loses events`(_ end: SmallStore.End) throws {
        let store = try SmallStore(end)
        var wrong: [String] = []
        for path in [store.manifest, store.current] {
            let bytes = try store.disk.contents(of: path)
            let used = (bytes.lastIndex { $0 != 0 } ?? 0) + 200
            for byte in bytes.indices where byte < used || byte % 997 == 0 {
                for bit in runsLongTests ? Array(0..<8) : [byte % 8] {
                    let disk = store.disk.crash(.keepingEverything)
                    try disk.flipBit(path, at: byte, bit: bit)
                    if let text = store.wrongToReader(disk) ?? store.wrong(disk, path) {
                        wrong.append("\(path), byte \(byte), bit \(bit): \(text)")
                    }
                }
            }
        }
        #expect(wrong.prefix(5) == [])
    }
}

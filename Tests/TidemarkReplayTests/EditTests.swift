// Tidemark
// SPDX-License-Identifier: Apache-2.0

import GeneratedQueries
import TestSupport
import Testing
import TidemarkModel

@testable import TidemarkReplay

@Suite struct EditTests {
    /// The shortest way between two lists, by a table of all of them.
    private func distance(_ old: [Int], _ new: [Int]) -> Int {
        var row = Array(0...new.count)
        for (x, left) in old.enumerated() {
            var next = [x + 1]
            for (y, right) in new.enumerated() {
                next.append(left == right ? row[y] : min(row[y + 1], next[y]) + 1)
            }
            row = next
        }
        return row[new.count]
    }

    /// Follows steps and says whether they lead from one list to the other, in order.
    private func leads(_ edits: [Edit], from old: [Int], to new: [Int]) -> Bool {
        var (x, y) = (0, 0)
        for edit in edits {
            switch edit {
            case .kept(let left, let right):
                guard left == x, right == y, old[x] == new[y] else { return false }
                x += 1
                y += 1
            case .removed(let left):
                guard left == x else { return false }
                x += 1
            case .added(let right):
                guard right == y else { return false }
                y += 1
            }
        }
        return x == old.count && y == new.count
    }

    @Test func `Edits convert one list to the other in the fewest steps`() {
        var random = SeededGenerator(seed: 1)
        for _ in 0..<3_000 {
            let kinds = Int.random(in: 1...5, using: &random)
            func list() -> [Int] {
                (0..<Int.random(in: 0...14, using: &random)).map { _ in
                    Int.random(in: 0..<kinds, using: &random)
                }
            }
            let (old, new) = (list(), list())
            let edits = EditWalk.edits(from: old, to: new)
            #expect(leads(edits, from: old, to: new), "\(old) to \(new): \(edits)")
            let steps = edits.count { if case .kept = $0 { false } else { true } }
            #expect(steps == distance(old, new), "\(old) to \(new): \(edits)")
        }
    }

    @Test func `Lists without common elements are replaced quickly`() {
        let old = Array(0..<50_000)
        let new = [-1] + Array(60_000..<110_000) + [49_999]
        let edits = EditWalk.edits(from: old, to: new)
        #expect(leads(edits, from: old, to: new))
        #expect(edits.last == .kept(old: 49_999, new: 50_001))
        #expect(edits.count == 49_999 + 50_001 + 1)
    }

    @Test func `Changes of a text are shown with context lines`() {
        let old = (1...20).map { "line \($0)\n" }.joined()
        let new = old.replacing("line 3\n", with: "").replacing("line 17\n", with: "LINE\n17\n")
        let diff = TextDiff(from: old, to: new, context: 2)
        #expect(diff.hunks.count == 2)
        #expect(
            diff.hunks[0].lines.map { $0.fate.rawValue + $0.text }
                == [" line 1", " line 2", "-line 3", " line 4", " line 5"]
        )
        #expect(diff.hunks[0].oldStart == 1 && diff.hunks[0].newStart == 1)
        #expect(
            diff.hunks[1].lines.map { $0.fate.rawValue + $0.text }
                == [" line 15", " line 16", "-line 17", "+LINE", "+17", " line 18", " line 19"]
        )
        #expect(diff.hunks[1].oldStart == 15 && diff.hunks[1].newStart == 14)
    }

    @Test func `Lines are compared by their bytes`() {
        #expect(TextDiff(from: "a\né\n", to: "a\ne\u{301}\n").hunks.count == 1)
        #expect(TextDiff(from: "a\r\nb", to: "a\r\nc").hunks[0].lines.count == 3)
        #expect(TextDiff(from: "", to: "").hunks.isEmpty)
        let grown = TextDiff(from: "", to: "one\n\ntwo\n").hunks.flatMap(\.lines)
        #expect(grown.map(\.text) == ["one", "", "two"])
    }

    @Test func `A list diff consists of elements`() {
        let diff = ListDiff(
            from: [.int64(1), .int64(2), .int64(3)],
            to: [.int64(1), .int64(3), .int64(4)]
        )
        #expect(diff.removed == [.int64(2)] && diff.added == [.int64(4)])
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLog

/// A set of positions of the log: one bit for each, in pieces that are made when they are needed.
struct PositionSet: Sendable {
    /// 65,536 positions each; empty where nothing is in the set.
    private var pieces: [[UInt64]] = []
    // 8 KiB each. A compaction needs most of them, and a set of a few commits needs few.
    private static let wordCount = 1 << 10

    /// Returns true if the set contains a position.
    ///
    /// O(1).
    func contains(_ position: SequenceNumber) -> Bool {
        let (piece, word, bit) = Self.place(of: position)
        guard piece < pieces.count, !pieces[piece].isEmpty else { return false }
        return pieces[piece][word] & bit != 0
    }

    /// Adds a position.
    ///
    /// Amortized O(1).
    mutating func insert(_ position: SequenceNumber) {
        let (piece, word, bit) = Self.place(of: position)
        while pieces.count <= piece { pieces.append([]) }
        if pieces[piece].isEmpty {
            pieces[piece] = [UInt64](repeating: 0, count: Self.wordCount)
        }
        pieces[piece][word] |= bit
    }

    /// Takes a position out.
    mutating func remove(_ position: SequenceNumber) {
        guard contains(position) else { return }
        let (piece, word, bit) = Self.place(of: position)
        pieces[piece][word] &= ~bit
    }

    private static func place(of position: SequenceNumber) -> (piece: Int, word: Int, bit: UInt64) {
        let word = Int(position.rawValue >> 6)
        return (word / wordCount, word % wordCount, 1 << (position.rawValue & 63))
    }
}

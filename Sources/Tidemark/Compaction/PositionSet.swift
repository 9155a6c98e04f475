// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// A set of positions of the log: one bit for each, in pieces that are made when they are needed.
struct PositionSet: Sendable {
    /// 65,536 positions each; empty where nothing is in the set.
    private var pieces: [[UInt64]] = []
    private static let pieceShift: UInt64 = 16
    private static let wordCount = 1 << 10

    /// Whether a position is in the set.
    ///
    /// O(1).
    func contains(_ position: UInt64) -> Bool {
        let piece = Int(position >> Self.pieceShift)
        guard piece < pieces.count, !pieces[piece].isEmpty else { return false }
        return pieces[piece][Self.word(of: position)] >> (position & 63) & 1 == 1
    }

    /// Adds a position.
    ///
    /// Amortized O(1).
    mutating func insert(_ position: UInt64) {
        let piece = Int(position >> Self.pieceShift)
        while pieces.count <= piece { pieces.append([]) }
        if pieces[piece].isEmpty {
            pieces[piece] = [UInt64](repeating: 0, count: Self.wordCount)
        }
        pieces[piece][Self.word(of: position)] |= 1 << (position & 63)
    }

    /// Takes a position out.
    mutating func remove(_ position: UInt64) {
        guard contains(position) else { return }
        pieces[Int(position >> Self.pieceShift)][Self.word(of: position)] &= ~(1 << (position & 63))
    }

    private static func word(of position: UInt64) -> Int { Int(position >> 6) & (wordCount - 1) }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// A store's incarnations, oldest first.
///
/// The cut of one is the position before the next begins.
package struct IncarnationLine: Hashable, Sendable {
    /// One incarnation and the position of its first event.
    package struct Entry: Hashable, Sendable {
        package var incarnation: Incarnation
        package var first: SequenceNumber

        package init(incarnation: Incarnation, first: SequenceNumber) {
            self.incarnation = incarnation
            self.first = first
        }
    }

    /// Oldest first, never empty, `first` never descending.
    package var entries: [Entry]

    package init(entries: [Entry]) {
        self.entries = entries
    }

    /// The incarnation that new events belong to.
    package var current: Incarnation {
        entries[entries.count - 1].incarnation
    }

    /// Returns true if a position that was issued under an incarnation is still part of this line:
    /// the incarnation is known, and the position is not beyond its cut.
    ///
    /// O(incarnations).
    package func contains(_ sequence: SequenceNumber, of incarnation: Incarnation) -> Bool {
        for (index, entry) in entries.enumerated() where entry.incarnation == incarnation {
            return index + 1 == entries.count || sequence < entries[index + 1].first
        }
        return false
    }

    /// Returns the incarnation that wrote an event.
    ///
    /// O(log incarnations).
    package func incarnation(of sequence: SequenceNumber) -> Incarnation {
        // Of several incarnations that begin at one position, the last one: the others wrote no
        // event.
        let next = entries.endOfPrefix { $0.first <= sequence }
        return entries[max(0, next - 1)].incarnation
    }
}

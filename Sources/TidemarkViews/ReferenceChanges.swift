// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkEvents
package import TidemarkLog
import TidemarkModel

/// The changes of bindings in one stretch of the log, searchable by target.
package struct ReferenceChanges: Sendable {
    /// The changes in log order.
    package private(set) var changes: [ReferenceChange] = []
    private var indexes: [UInt64: [UInt32]] = [:]

    /// Adds a change.
    package mutating func append(_ change: ReferenceChange) {
        indexes[change.key.high, default: []].append(UInt32(truncatingIfNeeded: changes.count))
        changes.append(change)
    }

    /// Returns the position of the last change under a key; zero if there is none.
    package func lastSequence(under key: UInt64) -> SequenceNumber {
        indexes[key]?.last.map { changes[Int($0)].sequence } ?? 0
    }

    /// Visits the changes under a key up to a position, oldest first.
    package func visit(
        under key: UInt64,
        through bound: SequenceNumber,
        _ visit: (ReferenceChange) -> Void
    ) {
        for index in indexes[key] ?? [] {
            let change = changes[Int(index)]
            // Changes are appended in log order, so all that follow are after the bound too.
            if change.sequence > bound { return }
            visit(change)
        }
    }
}

extension Fold {
    /// Returns the changes that a record's event makes to its bindings: first the ended ones, then
    /// the current ones.
    ///
    /// `body` is the body of a save; a deletion has none.
    func referenceChanges(
        _ change: SlotChange,
        _ event: RecordEvent,
        _ body: RecordBody?
    ) -> [ReferenceChange] {
        var changes = event.released.map { target in
            ReferenceChange(
                zone: change.zone,
                target: target,
                source: change.slot,
                sequence: change.sequence,
                binding: []
            )
        }
        for (target, binding) in body?.bindings(hash) ?? [] {
            changes.append(
                ReferenceChange(
                    zone: change.zone,
                    target: target,
                    source: change.slot,
                    sequence: change.sequence,
                    binding: binding
                )
            )
        }
        return changes
    }
}

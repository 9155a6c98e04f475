// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The pending changes: at most one for each zone or record, in the order in which these were first
/// changed.
///
/// Adding and removing one take amortized O(1).
struct Outbox<Change: Identifiable & Hashable & Sendable>: Sendable where Change.ID: Sendable {
    private struct Entry: Sendable {
        var change: Change
        /// The count of all additions at the last addition of the change.
        var edition: Int
    }

    /// The changes; `nil` in place of a removed one.
    private var entries: [Entry?] = []
    private var places: [Change.ID: Int] = [:]
    /// The number of additions so far, including those of changes that were already present.
    private(set) var edition = 0

    /// The changes, in order.
    ///
    /// O(changes).
    var changes: [Change] { entries.compactMap { $0?.change } }

    var isEmpty: Bool { places.isEmpty }

    /// Returns true if a change is pending, and no other for its zone or record.
    func contains(_ change: Change) -> Bool {
        places[change.id].map { entries[$0]?.change == change } ?? false
    }

    /// Adds a change, replacing an earlier one for the same zone or record.
    mutating func add(_ change: Change) {
        edition += 1
        let entry = Entry(change: change, edition: edition)
        guard let place = places[change.id] else {
            places[change.id] = entries.count
            entries.append(entry)
            return
        }
        // The change keeps the place of the earlier one, and gets the new edition: `remove` with an
        // older edition must not remove it.
        entries[place] = entry
    }

    /// Removes a pending change if it was last added up to an edition.
    ///
    /// A change that was added later stays: it is newer.
    mutating func remove(_ change: Change, upTo edition: Int = .max) {
        guard let place = places[change.id], let entry = entries[place], entry.change == change,
            entry.edition <= edition
        else { return }
        places[change.id] = nil
        entries[place] = nil
        // More than half of the entries are empty, so their removals pay for one pass over all
        // entries.
        if entries.count > 32, places.count * 2 < entries.count { tighten() }
    }

    private mutating func tighten() {
        // The order of the changes stays. Only their indexes change, and `places` is updated to
        // them.
        entries.removeAll { $0 == nil }
        for (place, entry) in entries.enumerated() {
            if let entry { places[entry.change.id] = place }
        }
    }
}

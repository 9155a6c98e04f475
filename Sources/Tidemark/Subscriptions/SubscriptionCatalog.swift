// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLog
import TidemarkModel
import TidemarkRules
import TidemarkViews

/// The subscriptions that are saved now, by who has them.
struct SubscriptionCatalog: Sendable {
    private var entries: [SubscriptionHolder: [Name: SavedSubscription]] = [:]

    /// The subscriptions of one holder, by id.
    subscript(holder: SubscriptionHolder) -> [Name: SavedSubscription] {
        get { entries[holder] ?? [:] }
        set { entries[holder] = newValue.isEmpty ? nil : newValue }
    }

    /// Takes a subscription in, in the place of the one with its id.
    mutating func set(_ held: HeldSubscription, at sequence: UInt64) {
        self[held.holder][held.subscription.name] = SavedSubscription(
            subscription: held.subscription,
            sequence: sequence
        )
    }

    /// Takes a subscription out.
    mutating func remove(_ id: Name, of holder: SubscriptionHolder) {
        self[holder][id] = nil
    }
}

extension Engine {
    /// All subscriptions that a picture shows.
    ///
    /// O(subscriptions of the store).
    func subscriptionCatalog(_ picture: ViewPicture) throws(SyncError) -> SubscriptionCatalog {
        var catalog = SubscriptionCatalog()
        for record in try picture.facts.records(of: .subscriptions, in: .ofStore) {
            let held = try SubscriptionRecords.read(record.readBody())
            catalog.set(held, at: record.sequence.rawValue)
        }
        return catalog
    }
}

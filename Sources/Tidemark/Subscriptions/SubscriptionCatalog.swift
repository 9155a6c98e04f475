// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLog
import TidemarkModel
import TidemarkRules
import TidemarkViews

/// The current subscriptions, by their holders.
struct SubscriptionCatalog: Sendable {
    private var entries: [SubscriptionHolder: [Name: SavedSubscription]] = [:]

    /// The subscriptions of one holder, by id.
    subscript(holder: SubscriptionHolder) -> [Name: SavedSubscription] {
        get { entries[holder] ?? [:] }
        // Holders without subscriptions are not remembered.
        set { entries[holder] = newValue.isEmpty ? nil : newValue }
    }

    /// Takes a subscription in, in the place of the one with its id.
    mutating func set(_ held: HeldSubscription, at sequence: SequenceNumber) {
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

extension Reader {
    /// All subscriptions that a picture shows.
    ///
    /// O(subscriptions of the store).
    func subscriptionCatalog(_ picture: ViewPicture) throws(SyncError) -> SubscriptionCatalog {
        var catalog = SubscriptionCatalog()
        for record in try picture.facts.records(of: .subscriptions, in: .ofStore) {
            let held = try SubscriptionRecords.read(record.readBody())
            catalog.set(held, at: record.sequence)
        }
        return catalog
    }

    /// The holder of a caller's subscriptions and notifications.
    func holder(of caller: Caller) throws(SyncError) -> SubscriptionHolder {
        guard let user = caller.user else { throw .notAuthenticated(caller.database) }
        return SubscriptionHolder(user: user, database: caller.database)
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLog
import TidemarkModel
import TidemarkViews

/// The subscriptions that are saved now, by who has them.
struct SubscriptionCatalog: Sendable {
    /// A saved subscription and the position of its event.
    struct Entry: Sendable {
        var subscription: Subscription
        var sequence: UInt64
    }

    private var entries: [SubscriptionHolder: [Name: Entry]] = [:]

    /// The subscriptions of one holder, by id.
    subscript(holder: SubscriptionHolder) -> [Name: Entry] {
        get { entries[holder] ?? [:] }
        set { entries[holder] = newValue.isEmpty ? nil : newValue }
    }

    /// Takes a subscription in, in the place of the one with its id.
    mutating func set(_ held: HeldSubscription, at sequence: UInt64) {
        self[held.holder][held.subscription.name] = Entry(
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
        for record in try records(of: .subscriptions, in: .ofStore, picture) {
            let held = try SubscriptionRecords.read(record.readBody())
            catalog.set(held, at: record.sequence.rawValue)
        }
        return catalog
    }
}

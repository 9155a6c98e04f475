// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkModel

/// The holder of subscriptions: a user in one database.
package struct SubscriptionHolder: Hashable, Sendable {
    package var user: UserID
    package var database: DatabaseID

    package init(user: UserID, database: DatabaseID) {
        self.user = user
        self.database = database
    }

    /// The database with the user's notifications.
    package var collection: DatabaseID { database.sibling(.private, of: user) }
}

extension SubscriptionHolder {
    /// The shared database with its owner's name: `__defaultOwner__` stands for the caller.
    package var sharedDatabase: DatabaseID {
        database.sibling(.shared, of: database.owner == .current ? user : database.owner)
    }
}

/// A subscription and its holder.
package struct HeldSubscription: Sendable {
    package var holder: SubscriptionHolder
    package var subscription: Subscription

    package init(holder: SubscriptionHolder, subscription: Subscription) {
        self.holder = holder
        self.subscription = subscription
    }

    /// The name of the subscription's record, unique in the store.
    package var recordName: Name { Self.recordName(of: subscription.name, holder) }

    /// Returns the name of the record of a subscription by its id.
    package static func recordName(of id: Name, _ holder: SubscriptionHolder) -> Name {
        let database = holder.database
        return Name(
            [
                database.container.identifier.escaped, database.environment.rawValue,
                holder.user.userRecordName.escaped, database.scope.name,
                // The id is the last part, so a slash in it is not ambiguous.
                database.owner.userRecordName.escaped, id.string,
            ].joined(separator: "/")
        )
    }

    /// The identity of the subscription among those of the user in the same container.
    var nameInCollection: String {
        [
            holder.database.scope.name, holder.database.owner.userRecordName.escaped,
            subscription.id.escaped,
        ].joined(separator: "/")
    }
}

extension String {
    /// The text with slashes and percent signs escaped as in URLs.
    package var escaped: String {
        // Most names have neither, and are returned without a copy.
        guard utf8.contains(where: { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "%") }) else {
            return self
        }
        var escaped = ""
        for scalar in unicodeScalars {
            switch scalar {
            case "%": escaped += "%25"
            case "/": escaped += "%2F"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}

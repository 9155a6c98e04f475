// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLog
import TidemarkModel
import TidemarkRules

/// The results of a stretch of the log: the notifications to keep, and the subscriptions that end.
struct NotificationBatch {
    /// The notifications of one user.
    struct Group {
        /// The database with the user's notifications.
        var collection: DatabaseID
        /// In the order of the events, each name once, by its last event.
        var saves: [RecordSave] = []
        /// The index of each name.
        fileprivate var places: [Name: Int] = [:]
    }

    /// In the order in which users are first notified.
    private(set) var groups: [Group] = []
    private var places: [DatabaseID: Int] = [:]
    /// Record names of the subscriptions that end, with the position of the event that saved each.
    private(set) var ended: [(name: Name, sequence: SequenceNumber)] = []
    /// The number of notifications.
    private(set) var count = 0

    /// True if there is nothing to do.
    var isEmpty: Bool { groups.isEmpty && ended.isEmpty }

    /// Adds a notification for a user.
    mutating func add(_ save: RecordSave, for holder: SubscriptionHolder) {
        let collection = holder.collection
        let group = places[collection] ?? groups.count
        if group == groups.count {
            groups.append(Group(collection: collection))
            places[collection] = group
        }
        let name = Name(save.recordID.recordName)
        if let place = groups[group].places[name] {
            groups[group].saves[place] = save
        } else {
            groups[group].places[name] = groups[group].saves.count
            groups[group].saves.append(save)
            count += 1
        }
    }

    /// Records that a subscription ends.
    mutating func end(_ name: Name, savedAt sequence: SequenceNumber) {
        ended.append((name, sequence))
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Tidemark
import TidemarkModel

/// What everybody should hear, from plain dictionaries: every event is held against every
/// subscription, one after another.
struct NotificationModel {
    /// A database by what makes it one here: its scope and its owner.
    struct Place: Hashable {
        var isPublic: Bool
        var owner: String
        /// Whether it is what others share with the owner.
        var isShared = false
    }

    struct Holder: Hashable {
        var user: String
        var place: Place
    }

    /// A notification that somebody has not read.
    struct Heard: Equatable {
        var summary: String
        /// What tells it from others of its kind; a later one of the same key takes its place.
        var key: String
        /// The device of the holder's own that the change came from; `nil` for somebody else's.
        var origin: String?
        /// The number of the event.
        var number: Int
    }

    struct Author {
        var user: String
        var device: String?
    }

    private(set) var subscriptions: [Holder: [String: Subscription]] = [:]
    private var records: [Place: [String: [String: Record]]] = [:]
    private var heard: [String: [Heard]] = [:]
    /// Counts events.
    private(set) var number = 0

    /// What a client hears of what came after a number, in the order of the events.
    func heard(by user: String, on device: String?, after number: Int = 0) -> [String] {
        (heard[user] ?? []).filter { $0.origin != (device ?? "") && $0.number > number }
            .map(\.summary)
    }

    // MARK: Subscriptions

    /// Saves a subscription; says whether the store should accept it.
    mutating func save(_ subscription: Subscription, of holder: Holder) -> Bool {
        if case .query(let query) = subscription.kind {
            for (id, other) in subscriptions[holder] ?? [:] where id != subscription.id {
                if case .query(let otherQuery) = other.kind, otherQuery == query { return false }
            }
        }
        subscriptions[holder, default: [:]][subscription.id] = subscription
        return true
    }

    mutating func delete(_ id: String, of holder: Holder) {
        subscriptions[holder]?[id] = nil
    }

    // MARK: Events

    mutating func save(_ record: Record, _ place: Place, by author: Author) {
        let zone = record.zone.zoneName
        let old = records[place]?[zone]?[record.recordID.recordName]
        records[place, default: [:]][zone, default: [:]][record.recordID.recordName] = record
        fire(record, old == nil ? .created : .updated, zone, place, author)
    }

    mutating func delete(_ name: String, in zone: String, _ place: Place, by author: Author) {
        guard let old = records[place]?[zone]?.removeValue(forKey: name) else { return }
        fire(old, .deleted, zone, place, author)
    }

    mutating func createZone(_ zone: String, _ place: Place, by author: Author) {
        fire(nil, nil, zone, place, author)
    }

    mutating func deleteZone(_ zone: String, _ place: Place, by author: Author) {
        records[place]?[zone] = nil
        fire(nil, nil, zone, place, author)
        for holder in subscriptions.keys where holder.place == place {
            for (id, subscription) in subscriptions[holder] ?? [:] {
                switch subscription.kind {
                case .query(let query) where query.zone?.zoneName == zone: break
                case .zone(let id, _) where id.zoneName == zone: break
                default: continue
                }
                subscriptions[holder]?[id] = nil
            }
        }
    }

    /// What is shared with a user has changed, by one commit.
    mutating func changeShared(with user: String, by author: Author) {
        fire(nil, nil, "*", Place(isPublic: false, owner: user, isShared: true), author)
    }

    private mutating func fire(
        _ record: Record?,
        _ reason: Subscription.Notification.Reason?,
        _ zone: String,
        _ place: Place,
        _ author: Author
    ) {
        number += 1
        for holder in subscriptions.keys where holder.place == place {
            for (id, subscription) in subscriptions[holder] ?? [:] {
                let origin = author.user == holder.user ? author.device ?? "" : nil
                let kind = place.isPublic ? "public" : place.isShared ? "shared" : "private"
                let base = "\(kind)/\(place.owner)/\(id)"
                let isCustom = zone != ZoneID.defaultZoneName
                switch subscription.kind {
                case .query(let query):
                    guard let record, let reason, query.recordType == record.recordType,
                        query.options.contains(Self.option(reason)),
                        query.zone == nil || query.zone?.zoneName == zone,
                        let isMatch = try? query.predicate.matches(record, now: 0), isMatch
                    else { continue }
                    add(
                        "\(id) query \(reason) \(record.recordID.recordName)",
                        "\(number)/\(base)",
                        origin,
                        holder.user
                    )
                    if query.options.contains(.once) { subscriptions[holder]?[id] = nil }
                case .zone(let zoneID, let type):
                    guard zoneID.zoneName == zone, Self.fits(type, record) else { continue }
                    add("\(id) zone \(zone)", "\(base)/\(origin ?? "-")", origin, holder.user)
                case .database(let type):
                    guard isCustom, Self.fits(type, record) else { continue }
                    add("\(id) database", "\(base)/\(origin ?? "-")", origin, holder.user)
                }
            }
        }
    }

    private mutating func add(_ summary: String, _ key: String, _ origin: String?, _ user: String) {
        heard[user, default: []].removeAll { $0.key == key }
        heard[user, default: []].append(
            Heard(summary: summary, key: key, origin: origin, number: number)
        )
    }

    private static func option(_ reason: Subscription.Notification.Reason) -> Subscription.Options {
        switch reason {
        case .created: .create
        case .updated: .update
        case .deleted: .delete
        }
    }

    private static func fits(_ type: Name?, _ record: Record?) -> Bool {
        type.map { $0.string == record?.recordType } ?? true
    }

    // MARK: Reading

    /// Marks as read what a client hears under some summaries.
    mutating func read(_ summaries: Set<String>, by user: String, on device: String?) {
        heard[user]?.removeAll { $0.origin != (device ?? "") && summaries.contains($0.summary) }
    }
}

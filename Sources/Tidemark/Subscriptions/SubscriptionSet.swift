// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel
import TidemarkRules

/// The subscriptions of a store as of some event, indexed by their subjects.
///
/// An event is matched only against the few subscriptions that may concern it: by database, by zone
/// or record type, and, for queries, those whose equalities the record fulfils.
struct SubscriptionSet: Sendable {
    /// A subscription that is ready to be matched.
    struct Standing: Sendable {
        var held: HeldSubscription
        /// Position of the event that saved it.
        var sequence: SequenceNumber
        /// The prepared predicate; `nil` if it must be prepared for each event, because it names
        /// the time, or its search depends on the schema.
        var matcher: Query.Matcher?
        /// The predicate with the user in place of the caller.
        var predicate: Query.Predicate = .always
    }

    /// The subscriptions in one database, by number.
    struct Watch: Sendable {
        /// Subscriptions to the database.
        var databaseWide: [Int] = []
        /// Subscriptions to zones, by the zone's name.
        var zones: [Name: [Int]] = [:]
        /// Subscriptions by query, by record type.
        var queries: [Name: PredicateIndex] = [:]
        /// The number of them for each type.
        var queryCounts: [Name: Int] = [:]

        /// Returns true if an event about a record may concern any of them.
        func concerns(_ type: Name, _ zone: ZoneIdentity) -> Bool {
            if queries[type] != nil { return true }
            return !zone.isImplicit && (!databaseWide.isEmpty || zones[zone.zoneName] != nil)
        }
    }

    private(set) var watches: [Watch] = []
    /// The subscriptions to data shared with a user, by the user's shared database.
    private(set) var shared: [DatabaseID: [Int]] = [:]
    private var ordinals: [DatabaseID: Int] = [:]
    /// The subscriptions of databases that no event has needed yet.
    private var unread = UnreadSubscriptions()
    /// The databases whose subscriptions were read.
    private var readPlaces: Set<UnreadSubscriptions.Place> = []
    private var standing: [Standing?] = []
    private var free: [Int] = []
    private var numbers: [Name: Int] = [:]

    /// The number of additions and removals.
    ///
    /// After one, a number may refer to another subscription.
    private(set) var changeCount = 0

    /// True if there are none.
    var isEmpty: Bool { numbers.isEmpty && unread.isEmpty }

    /// Returns the number of a database's watch; `nil` if no user ever subscribed there.
    ///
    /// The first call reads all subscriptions in the database.
    mutating func ordinal(of database: DatabaseID) throws(SyncError) -> Int? {
        if let known = ordinals[database] { return known }
        if unread.isEmpty { return nil }
        try read(UnreadSubscriptions.place(of: database))
        return ordinals[database]
    }

    private mutating func read(_ place: UnreadSubscriptions.Place) throws(SyncError) {
        guard let changes = unread.take(place) else { return }
        readPlaces.insert(place)
        for change in changes {
            switch change {
            case .saved(let body, let sequence):
                _ = try insert(try SubscriptionRecords.read(body), at: sequence)
            case .removed(let name):
                removeStanding(name)
            }
        }
    }

    /// Adds a saved subscription, replacing one of the same name; returns true if it may be the
    /// first in its database.
    mutating func insert(_ body: RecordBody, at sequence: SequenceNumber) throws(SyncError) -> Bool
    {
        // The users that see changes through shares must be known for every event.
        guard let found = UnreadSubscriptions.place(ofRecord: body.recordNameBytes),
            !found.isShared, !readPlaces.contains(found.place)
        else { return try insert(try SubscriptionRecords.read(body), at: sequence) }
        let count = unread.append(.saved(body, sequence: sequence), at: found.place)
        // Those that are saved again and again do not pile up.
        if count >= Self.unreadLimit { try read(found.place) }
        return count == 1
    }

    /// The maximum number of unread changes of subscriptions in one database.
    private static let unreadLimit = 16_384

    /// Takes out the subscription of a record name, if there is one.
    mutating func remove(_ recordName: Name) {
        if numbers[recordName] != nil { return removeStanding(recordName) }
        guard let found = UnreadSubscriptions.place(ofRecord: Array(recordName.string.utf8)[...]),
            !found.isShared, !readPlaces.contains(found.place)
        else { return }
        // The save that this ends may be unread itself, so the order of both is kept.
        _ = unread.append(.removed(recordName), at: found.place)
    }

    /// The subscription with a number that a watch names.
    subscript(number: Int) -> Standing? { standing[number] }

    /// The number of the subscription with a record name.
    func number(of recordName: Name) -> Int? { numbers[recordName] }

    /// Adds a subscription that an event saved, in the place of the one of the same name; returns true if it is
    /// the first in its database.
    private mutating func insert(
        _ held: HeldSubscription,
        at sequence: SequenceNumber
    ) throws(SyncError) -> Bool {
        let name = held.recordName
        removeStanding(name)
        // Ordinals are never removed or reused, because `Following` remembers them with zones.
        let isNew = ordinals[held.holder.database] == nil
        let ordinal = ordinals[held.holder.database] ?? watches.count
        if isNew {
            ordinals[held.holder.database] = ordinal
            watches.append(Watch())
        }
        var entry = Standing(held: held, sequence: sequence)
        let number = free.popLast() ?? standing.count
        switch held.subscription.kind {
        case .query(let query):
            entry.predicate = query.predicate.resolvingCurrentUser(as: held.holder.user)
            // The time does not matter then, so one matcher serves all events.
            if !entry.predicate.dependsOnMoment {
                entry.matcher = try Query.Matcher(entry.predicate, now: 0)
            }
            let type = Name(query.recordType)
            watches[ordinal].queries[type, default: PredicateIndex()]
                .insert(number, entry.predicate)
            watches[ordinal].queryCounts[type, default: 0] += 1
        case .zone(let zone, _):
            watches[ordinal].zones[zone.name, default: []].append(number)
        case .database:
            // Events are in the owner's database. So subscriptions to a shared one cannot be found
            // by the database of an event.
            if held.holder.database.scope == .shared {
                shared[held.holder.sharedDatabase, default: []].append(number)
            } else {
                watches[ordinal].databaseWide.append(number)
            }
        }
        changeCount += 1
        if number == standing.count { standing.append(entry) } else { standing[number] = entry }
        numbers[name] = number
        return isNew
    }

    private mutating func removeStanding(_ recordName: Name) {
        guard let number = numbers.removeValue(forKey: recordName), let entry = standing[number],
            let ordinal = ordinals[entry.held.holder.database]
        else { return }
        switch entry.held.subscription.kind {
        case .query(let query):
            let type = Name(query.recordType)
            watches[ordinal].queries[type]?.remove(number, entry.predicate)
            let count = (watches[ordinal].queryCounts[type] ?? 1) - 1
            watches[ordinal].queryCounts[type] = count > 0 ? count : nil
            if count <= 0 { watches[ordinal].queries[type] = nil }
        case .zone(let zone, _):
            watches[ordinal].zones[zone.name]?.removeAll { $0 == number }
            if watches[ordinal].zones[zone.name]?.isEmpty ?? false {
                watches[ordinal].zones[zone.name] = nil
            }
        case .database:
            let database = entry.held.holder.sharedDatabase
            watches[ordinal].databaseWide.removeAll { $0 == number }
            shared[database]?.removeAll { $0 == number }
            if shared[database]?.isEmpty ?? false { shared[database] = nil }
        }
        // The number may be reused at once. Caches of numbers compare the count and drop their
        // content.
        changeCount += 1
        standing[number] = nil
        free.append(number)
    }

    /// The record names of the subscriptions that are about one zone alone.
    ///
    /// O(subscriptions of the database).
    func subscriptions(boundTo zone: Name, in database: DatabaseID) -> [Name] {
        standing.compactMap { entry in
            guard let held = entry?.held, held.holder.database == database else { return nil }
            let bound: ZoneID? =
                switch held.subscription.kind {
                case .query(let query): query.zone
                case .zone(let zone, _): zone
                case .database: nil
                }
            return bound?.name == zone ? held.recordName : nil
        }
    }
}

extension Query.Predicate {
    /// True if the result depends on the moment of evaluation: on the time, or on the schema, which
    /// decides what a search in all words covers.
    fileprivate var dependsOnMoment: Bool {
        switch self {
        case .always, .never, .distance: false
        case .comparison(let comparison): comparison.operand == .now
        case .words(let search): search.key == nil
        case .and(let parts), .or(let parts): parts.contains { $0.dependsOnMoment }
        case .not(let part): part.dependsOnMoment
        }
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel
import TidemarkRules
import TidemarkViews

/// Bounds the collections of users: it drops the oldest unread notifications of queries if they are
/// too many or too old.
///
/// It counts notifications that are made, not those that are read. So it checks a collection no
/// later than when there may be too many, and rarely before.
struct NotificationRetention {
    /// The state that the last check of a collection found.
    private struct Known {
        /// The position at or below which there is no live notification of a query.
        var floor: SequenceNumber = 0
        /// The maximum number of live notifications above the floor.
        var count = 0
        /// The time before which no notification is too old.
        var due = Int64.max
    }

    private var known: [DatabaseID: Known] = [:]
    /// Collections that are remembered at most.
    private static let collectionLimit = 10_000

    /// Records that notifications were added to a collection.
    mutating func count(_ added: Int, in collection: DatabaseID) {
        known[collection]?.count += added
    }

    /// Drops notifications of a collection that are too many or too old; returns the position of
    /// that commit, or `nil` if there are none.
    ///
    /// O(1) if none can be overdue, else O(notifications of the collection).
    mutating func keepWithinBounds(
        _ collection: DatabaseID,
        _ store: Notifications
    ) throws(SyncError) -> SequenceNumber? {
        let limit = max(store.reader.options.limits.notificationsPerUser, 0)
        if let known = known[collection], known.count <= limit, store.reader.now() <= known.due {
            return nil
        }
        let floor = known[collection]?.floor ?? 0
        while true {
            let picture = try store.reader.picture(.appended)
            let time = store.reader.now()
            let overdue = try store.overdueNotifications(
                in: collection,
                after: floor,
                limit: limit,
                at: time,
                picture
            )
            var placed: SequenceNumber?
            if !overdue.names.isEmpty {
                placed = try store.drop(overdue, from: collection, at: time, picture)
                if placed == nil { continue }
            }
            // Forgetting costs each collection one more check, and drops nothing early.
            if known.count >= Self.collectionLimit { known = [:] }
            known[collection] = Known(
                floor: overdue.floor,
                count: overdue.leftCount,
                due: overdue.due
            )
            return placed
        }
    }
}

/// The notifications of a collection that are too many or too old.
struct OverdueNotifications {
    /// The names of the records that have to go.
    var names: [Name] = []
    /// Position of the last of them.
    var last: SequenceNumber = 0
    /// The number of notifications that stay.
    var leftCount = 0
    /// The position at or below which no notification of a query stays.
    var floor: SequenceNumber = 0
    /// The time before which no remaining notification is too old.
    var due = Int64.max
}

extension Notifications {
    /// Finds the notifications of a collection above a position that are too many or too old.
    fileprivate func overdueNotifications(
        in collection: DatabaseID,
        after floor: SequenceNumber,
        limit: Int,
        at time: Int64,
        _ picture: ViewPicture
    ) throws(SyncError) -> OverdueNotifications {
        var found = OverdueNotifications(floor: floor)
        let holder = SubscriptionHolder(user: collection.owner, database: collection)
        guard let key = try notificationsZone(of: holder, picture).key else { return found }
        let versions: [RecordVersion] = try SyncError.wrapping { () throws(ViewIndexError) in
            try picture.changes(in: key, after: floor, quiet: .max, limit: .max)
        }
        let durable = reader.source.durableSequence
        // The picture has all appended events, but the source reads only durable ones.
        let wanted = versions.map(\.sequence).filter { $0 <= durable }
        // A sixteenth more is dropped than necessary. Otherwise every further notification would
        // cause a scan and a commit.
        let excess = versions.count > limit ? versions.count - limit + limit / 16 : 0
        let lifetime = reader.options.notificationLifetime.inMilliseconds
        found.due = Self.sum(time, lifetime)
        try reader.source.visit(wanted) { (event) throws(SyncError) in
            let body = try event.readRecord().readBody()
            // Those of zones and databases are few, and the next takes the place of the last.
            guard NotificationRecords.isOfQuery(body) else { return true }
            let received = event.commit.received
            // Events ascend, so the search ends at the first notification that stays.
            guard found.names.count < excess || received < time.subtractingSaturated(lifetime)
            else {
                found.floor = event.sequence.previous
                found.due = Self.sum(received, lifetime)
                return false
            }
            found.names.append(Name(body.recordName))
            found.last = event.sequence
            found.floor = found.last
            return true
        }
        found.leftCount = versions.count - found.names.count
        return found
    }

    /// A time that long after another; the last there is where that is beyond it.
    private static func sum(_ time: Int64, _ duration: Int64) -> Int64 {
        let (sum, isBeyond) = time.addingReportingOverflow(duration)
        return isBeyond ? .max : sum
    }

    /// Appends the commit that drops notifications and records the position; `nil` if another
    /// commit came first.
    fileprivate func drop(
        _ overdue: OverdueNotifications,
        from collection: DatabaseID,
        at time: Int64,
        _ picture: ViewPicture
    ) throws(SyncError) -> SequenceNumber? {
        let facts = picture.facts
        var plan = CommitPlan(over: facts, time: time)
        let author = Authorship(time: time, user: nil)
        let change = SystemChange(zone: .notifications, deletions: overdue.names)
        try plan.add(change, of: collection, by: author, over: facts)
        let dropped = DroppedRecord(last: overdue.last)
        // The position makes tokens from before it expire. It is in the same commit, so no client
        // can miss dropped notifications without an error.
        let note = SystemChange(zone: .notified, saves: [try dropped.save(for: collection)])
        try plan.add(note, of: .ofStore, by: author, over: facts)
        plan.seal(as: Caller(database: .ofStore, user: nil), nil, outcomes: [])
        return try writer().committer.append(&plan)?.last
    }

    /// Position of the last notification of a collection that was dropped; zero if none was.
    func lastDropped(
        from collection: DatabaseID,
        _ picture: ViewPicture
    ) throws(SyncError) -> SequenceNumber {
        let name = DroppedRecord.name(of: collection)
        let record = try picture.facts.record(named: name, of: .notified, in: .ofStore)
        return try record.map { (record) throws(SyncError) in
            DroppedRecord(try record.readBody()).last
        } ?? 0
    }
}

/// The record of the position up to which unread notifications of a collection were dropped.
private struct DroppedRecord {
    /// Position of the last one.
    var last: SequenceNumber

    init(last: SequenceNumber) { self.last = last }

    init(_ body: RecordBody) {
        last = SequenceNumber(body.fields, "sequence")
    }

    /// The name of a collection's record.
    static func name(of collection: DatabaseID) -> Name {
        Name(
            [
                collection.container.identifier.escaped, collection.environment.rawValue,
                collection.owner.userRecordName.escaped,
            ].joined(separator: "/")
        )
    }

    /// The save that keeps it.
    func save(for collection: DatabaseID) throws(SyncError) -> RecordSave {
        var builder = FieldsBuilder()
        try builder.set("sequence", last.value)
        return RecordSave(
            RecordID(recordName: Self.name(of: collection).string, zone: SystemZone.notified.zone),
            type: "Dropped",
            fields: try builder.finish(),
            policy: .replace
        )
    }
}

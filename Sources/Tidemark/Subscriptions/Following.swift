// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel
import TidemarkRules
import TidemarkViews

/// Where the notifier is in the log, and which subscriptions there were at that point.
struct Following {
    /// All events up to here are notified of.
    var position: UInt64
    /// The position that the store has kept.
    var keptPosition: UInt64
    /// The key of the zone with the subscriptions; zero if there is none.
    var subscriptionsZone: UInt64 = 0
    /// The subscriptions as they stand at `position`.
    var set = SubscriptionSet()
    /// Versions of subscriptions that ended while somebody else saved or deleted them, until the event
    /// of that comes.
    var spent: [Name: UInt64] = [:]
    /// Who sees by shares what happens, as of the event that is read.
    var sharers = Sharers()
    /// The zones that events were in.
    private var zones: [UInt64: WatchedZone] = [:]

    init(position: UInt64, subscriptionsZone: UInt64 = 0) {
        self.position = position
        keptPosition = position
        self.subscriptionsZone = subscriptionsZone
    }

    /// A zone, and who watches its database.
    struct WatchedZone {
        var identity: ZoneIdentity
        /// The number of the database's watch; `nil` if nobody ever subscribed there.
        var watch: Int?
    }

    /// Zones that are remembered at most.
    private static let zoneLimit = 10_000

    /// The zone with a key, if the views know it.
    mutating func zone(
        _ key: UInt64,
        _ picture: ViewPicture
    ) throws(SyncError) -> WatchedZone? {
        if let known = zones[key] { return known }
        guard let identity = try? picture.zone(key).identity else { return nil }
        if zones.count >= Self.zoneLimit { zones = [:] }
        let zone = WatchedZone(identity: identity, watch: try set.ordinal(of: identity.database))
        zones[key] = zone
        return zone
    }

    /// Takes in a subscription that an event saved.
    mutating func insert(_ body: RecordBody, at sequence: UInt64) throws(SyncError) {
        if !spent.isEmpty { spent[Name(body.recordName)] = nil }
        let isNew = try set.insert(body, at: sequence)
        if isNew { zones = [:] }
    }

    /// Takes out a subscription that an event deleted.
    mutating func remove(_ name: Name) {
        spent[name] = nil
        set.remove(name)
    }

    /// Takes out all subscriptions.
    mutating func removeAll() {
        set = SubscriptionSet()
        sharers = Sharers()
        spent = [:]
        zones = [:]
    }
}

extension Notifications {
    /// Begins where the last notifications ended: with the subscriptions that stood there.
    ///
    /// O(subscriptions of the store), of which no more than the names are looked at.
    func beginFollowing() throws(SyncError) -> Following {
        let picture = try reader.picture(.visible)
        let zone: UInt64
        do throws(ViewIndexError) {
            let identity = ZoneIdentity(
                database: .ofStore,
                zoneName: Name(SystemZone.subscriptions.rawValue)
            )
            let epoch = try picture.epoch(of: identity)
            guard let key = epoch.key, epoch.end == nil else {
                return Following(position: picture.bound)
            }
            zone = key
        } catch {
            throw SyncError(error)
        }
        // What happened before there was a zone for subscriptions concerned nobody.
        let record = try notifiedRecord(picture)
        let kept = min(max(record.position, zone), picture.bound)
        let versions: [RecordVersion] = try SyncError.wrapping { () throws(ViewIndexError) in
            try picture.changes(in: zone, after: 0, quiet: kept, limit: .max)
        }
        var following = Following(position: kept, subscriptionsZone: zone)
        var first = UInt64.max
        for stored in try reader.views.records(at: versions.map(\.sequence)) {
            guard let old = try version(of: stored, asOf: kept, earliest: &first) else { continue }
            let body = try old.readBody()
            if record.spent.contains(old.sequence.rawValue) {
                following.spent[Name(body.recordName)] = old.sequence.rawValue
            } else {
                try following.insert(body, at: old.sequence.rawValue)
            }
        }
        // Until somebody subscribes there is nothing to look for.
        if following.set.isEmpty { following.position = max(kept, min(first - 1, picture.bound)) }
        return following
    }

    /// How far the store has come in making notifications, as it has kept it.
    private func notifiedRecord(_ picture: ViewPicture) throws(SyncError) -> NotifiedRecord {
        let name = Name(NotifiedRecord.name)
        guard let record = try picture.facts.record(named: name, of: .notified, in: .ofStore) else {
            return NotifiedRecord(position: 0)
        }
        return NotifiedRecord(try record.readBody())
    }

    /// A subscription's record as it was at a position, from what it is now; `nil` if it was not
    /// there.
    ///
    /// A deletion by the notifier itself counts from the event that caused it, which was before.
    /// `earliest` becomes the first position at which it changed since.
    private func version(
        of record: StoredRecord,
        asOf position: UInt64,
        earliest: inout UInt64
    ) throws(SyncError) -> StoredRecord? {
        var record = record
        while record.sequence.rawValue > position {
            earliest = min(earliest, record.sequence.rawValue)
            let isDeletion = record.event.state == .tombstone
            let previous = record.event.previous
            if previous == 0 { return nil }
            if isDeletion, try isOwnCommit(at: record.sequence) { return nil }
            record = try reader.views.records(at: [SequenceNumber(rawValue: previous)])[0]
        }
        return record.event.state == .live ? record : nil
    }

    /// Whether the store itself made the commit of an event: only such commits have no user.
    private func isOwnCommit(at sequence: SequenceNumber) throws(SyncError) -> Bool {
        guard let event = try reader.source.event(at: sequence) else { return false }
        return CommitEnvelope.isOfStore(event.envelope.span.bytes)
    }
}

/// The record that says how far notifications have been made.
struct NotifiedRecord {
    static let name = "position"

    /// All events up to here are notified of.
    var position: UInt64
    /// Versions of subscriptions that ended by then, although their records do not say so.
    var spent: Set<UInt64> = []

    init(position: UInt64, spent: Set<UInt64> = []) {
        self.position = position
        self.spent = spent
    }

    init(_ body: RecordBody) {
        let position = body.fields.integer("sequence").flatMap(UInt64.init(exactly:))
        self.init(position: position ?? 0)
        if case .int64List(let list)? = body.fields["spent"] {
            spent = Set(list.compactMap(UInt64.init(exactly:)))
        }
    }

    /// The save that keeps it.
    func save() throws(SyncError) -> RecordSave {
        var builder = FieldsBuilder()
        try builder.set("sequence", .int64(Int64(bitPattern: position)))
        if !spent.isEmpty {
            try builder.set("spent", .int64List(spent.sorted().map { Int64(bitPattern: $0) }))
        }
        return RecordSave(
            RecordID(recordName: Self.name, zone: SystemZone.notified.zone),
            type: "Position",
            fields: try builder.finish(),
            policy: .replace
        )
    }
}

extension CommitEnvelope {
    /// Whether the store itself made the commit, without reading the rest.
    static func isOfStore(_ span: RawSpan) -> Bool {
        span.byteCount >= 2 && span.byte(at: flagsOffset) & (Flag.user | Flag.request) == 0
    }

    /// Whether an import made the commit, without reading the rest.
    static func isOfImport(_ span: RawSpan) -> Bool {
        span.byteCount >= 2 && span.byte(at: flagsOffset) & Flag.neverExpires != 0
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel
import TidemarkRules
import TidemarkViews

/// The notifier's position in the log, and the subscriptions at that position.
struct Following {
    /// All events up to here are notified of.
    var position: SequenceNumber
    /// The position that the store has kept.
    var keptPosition: SequenceNumber
    /// The key of the zone with the subscriptions; zero if there is none.
    var subscriptionsZone: ZoneKey = 0
    /// The subscriptions as of `position`.
    var set = SubscriptionSet()
    /// Versions of subscriptions that ended while another request saved or deleted them, until the
    /// event of that request is read.
    var spent: [Name: SequenceNumber] = [:]
    /// The users that see changes through shares, as of the event that is being read.
    var sharers = Sharers()
    /// The zones that events were in.
    private var zones: [ZoneKey: WatchedZone] = [:]

    init(position: SequenceNumber, subscriptionsZone: ZoneKey = 0) {
        self.position = position
        keptPosition = position
        self.subscriptionsZone = subscriptionsZone
    }

    /// A zone, and the watch of its database.
    struct WatchedZone {
        var identity: ZoneIdentity
        /// The number of the database's watch; `nil` if no user ever subscribed there.
        var watch: Int?
    }

    /// Zones that are remembered at most.
    private static let zoneLimit = 10_000

    /// The zone with a key; `nil` if the views do not know it.
    ///
    /// Throws if the views cannot be read. Otherwise the event would be taken as one of an unknown
    /// zone, and nobody would be notified of it.
    mutating func zone(_ key: ZoneKey, _ picture: ViewPicture) throws(SyncError) -> WatchedZone? {
        if let known = zones[key] { return known }
        let standing = try SyncError.wrapping { () throws(ViewIndexError) in
            try picture.knownZone(key)
        }
        guard let identity = standing?.identity else { return nil }
        if zones.count >= Self.zoneLimit { zones = [:] }
        let zone = WatchedZone(identity: identity, watch: try set.ordinal(of: identity.database))
        zones[key] = zone
        return zone
    }

    /// Takes in a subscription that an event saved.
    mutating func insert(_ body: RecordBody, at sequence: SequenceNumber) throws(SyncError) {
        if !spent.isEmpty { spent[Name(body.recordName)] = nil }
        let isNew = try set.insert(body, at: sequence)
        // Zones of this database may be remembered as unwatched.
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
    /// Begins at the end of the last notifications, with the subscriptions of that position.
    ///
    /// O(subscriptions of the store); only their names are read.
    func beginFollowing() throws(SyncError) -> Following {
        let picture = try reader.picture(.visible)
        let identity = ZoneIdentity(
            database: .ofStore,
            zoneName: Name(SystemZone.subscriptions.rawValue)
        )
        let epoch = try SyncError.wrapping { () throws(ViewIndexError) in
            try picture.epoch(of: identity)
        }
        guard let zone = epoch.key, epoch.end == nil else {
            return Following(position: picture.bound)
        }
        // Events before the zone for subscriptions existed concerned no subscription.
        let record = try notifiedRecord(picture)
        let kept = min(max(record.position, zone.creation), picture.bound)
        // The views have only the last version of each subscription. Versions after `kept` are
        // followed back by `version(of:asOf:earliest:)`, deleted ones too.
        let versions: [RecordVersion] = try SyncError.wrapping { () throws(ViewIndexError) in
            try picture.changes(in: zone, after: 0, quiet: kept, limit: .max)
        }
        var following = Following(position: kept, subscriptionsZone: zone)
        var first = SequenceNumber.max
        for stored in try reader.views.records(at: versions.map(\.sequence)) {
            guard let old = try version(of: stored, asOf: kept, earliest: &first) else { continue }
            let body = try old.readBody()
            // A notification ended this version while another request changed the record. It must
            // not fire again.
            if record.spent.contains(old.sequence) {
                following.spent[Name(body.recordName)] = old.sequence
            } else {
                try following.insert(body, at: old.sequence)
            }
        }
        // Until there is a subscription, there is nothing to match.
        if following.set.isEmpty {
            // No subscription existed before the first later change, so the events up to it need no
            // reading.
            following.position = max(kept, min(first.previous, picture.bound))
        }
        return following
    }

    /// Returns the stored progress of making notifications.
    private func notifiedRecord(_ picture: ViewPicture) throws(SyncError) -> NotifiedRecord {
        let name = Name(NotifiedRecord.name)
        guard let record = try picture.facts.record(named: name, of: .notified, in: .ofStore) else {
            return NotifiedRecord(position: 0)
        }
        return NotifiedRecord(try record.readBody())
    }

    /// Returns a subscription's record as it was at a position, given the current one; `nil` if it
    /// did not exist.
    ///
    /// A deletion by the notifier itself counts from the event that caused it, which was earlier.
    /// `earliest` becomes the first position at which the record changed since.
    private func version(
        of record: StoredRecord,
        asOf position: SequenceNumber,
        earliest: inout SequenceNumber
    ) throws(SyncError) -> StoredRecord? {
        var record = record
        while record.sequence > position {
            earliest = min(earliest, record.sequence)
            let isDeletion = record.event.state == .tombstone
            if isDeletion, try isOwnCommit(at: record.sequence) { return nil }
            guard let previous = try reader.existingVersion(before: record) else { return nil }
            record = previous
        }
        return record.event.state == .live ? record : nil
    }

    /// Returns true if the store itself made the commit of an event; only such commits have no
    /// user.
    private func isOwnCommit(at sequence: SequenceNumber) throws(SyncError) -> Bool {
        guard let event = try reader.source.event(at: sequence) else { return false }
        return CommitEnvelope.isOfStore(event.envelope.span.bytes)
    }
}

/// The record of the position up to which notifications have been made.
struct NotifiedRecord {
    static let name = "position"

    /// All events up to here are notified of.
    var position: SequenceNumber
    /// Versions of subscriptions that had ended by then, although their records still exist.
    var spent: Set<SequenceNumber> = []

    init(position: SequenceNumber, spent: Set<SequenceNumber> = []) {
        self.position = position
        self.spent = spent
    }

    init(_ body: RecordBody) {
        self.init(position: SequenceNumber(body.fields, "sequence"))
        if case .int64List(let list)? = body.fields["spent"] {
            spent = Set(list.compactMap(UInt64.init(exactly:)).map(SequenceNumber.init(rawValue:)))
        }
    }

    /// The save that keeps it.
    func save() throws(SyncError) -> RecordSave {
        var builder = FieldsBuilder()
        try builder.set("sequence", position.value)
        if !spent.isEmpty {
            let spent = spent.sorted().map { Int64(bitPattern: $0.rawValue) }
            try builder.set("spent", .int64List(spent))
        }
        return RecordSave(
            RecordID(recordName: Self.name, zone: SystemZone.notified.zone),
            type: "Position",
            fields: try builder.finish(),
            policy: .replace
        )
    }
}

extension SequenceNumber {
    /// The position in a field of a record of the store's own; zero without one.
    init(_ fields: Fields, _ name: String) {
        let number = fields.integer(name).flatMap(UInt64.init(exactly:))
        self.init(rawValue: number ?? 0)
    }

    /// The position as the value of such a field.
    var value: FieldValue { .int64(Int64(bitPattern: rawValue)) }
}

extension CommitEnvelope {
    /// Returns true if the store itself made the commit, without reading the rest.
    static func isOfStore(_ span: RawSpan) -> Bool {
        // The flags are the second byte in every version of the envelope (events.md, "Commit
        // envelope").
        span.byteCount >= 2 && span.byte(at: flagsOffset) & (Flag.user | Flag.request) == 0
    }

    /// Returns true if an import made the commit, without reading the rest.
    static func isOfImport(_ span: RawSpan) -> Bool {
        span.byteCount >= 2 && span.byte(at: flagsOffset) & Flag.neverExpires != 0
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel
import TidemarkRules
import TidemarkViews

/// Reads events of the log one after another, and matches them against the subscriptions of that
/// moment.
struct EventReading {
    /// The position of the reading, and the subscriptions at that position.
    private(set) var following: Following
    /// The notifications that result from the events.
    private(set) var batch = NotificationBatch()

    private let store: Notifications
    private let picture: ViewPicture
    /// The read permissions of the holders of subscriptions in public databases.
    private var accesses: [SubscriptionHolder: PublicAccess] = [:]
    private var candidates: [Int] = []

    /// Begins where something else has ended.
    init(_ following: Following, _ store: Notifications, _ picture: ViewPicture) {
        self.following = following
        self.store = store
        self.picture = picture
    }

    /// Continues to a position, or until the limit of events or notifications is reached.
    mutating func read(
        through end: SequenceNumber,
        eventLimit: Int,
        notificationLimit: Int
    ) throws(SyncError) {
        var count = 0
        var reached = following.position
        // A stretch may end inside a commit: the position counts events, and the next stretch
        // continues with the rest of the commit.
        try store.reader.source.visit(
            from: following.position.next,
            through: end
        ) { (event) throws(SyncError) in
            guard count < eventLimit, batch.count < notificationLimit else { return false }
            try take(event)
            reached = event.sequence
            count += 1
            return true
        }
        // At the end nothing is left, even if the last positions hold no events.
        let isWhole = count < eventLimit && batch.count < notificationLimit
        following.position = isWhole ? max(reached, end) : reached
    }

    private mutating func take(_ event: LogEvent) throws(SyncError) {
        let payload = event.payload
        // Zone key 0 marks events about the store as a whole. Unknown kinds are skipped (events.md,
        // "Event payload").
        guard event.zone != 0, let kind = payload.first.flatMap(EventKind.init(rawValue:)) else {
            return
        }
        switch kind {
        case .recordSaved, .recordDeleted, .recordTouched:
            if event.zone == following.subscriptionsZone {
                try takeSubscription(event)
            } else if let zone = try following.zone(event.zone, picture) {
                switch zone.identity.systemZone {
                case nil: try takeRecord(event, in: zone)
                case .shares: try takeParticipation(event, in: zone.identity)
                default: break
                }
            }
        case .zoneCreated:
            let identity = try SyncError.wrapping { () throws(EventFormatError) in
                try ZoneEvent.readCreation(payload.span.bytes).identity
            }
            if identity.systemZone == .subscriptions {
                following.subscriptionsZone = ZoneKey(createdAt: event.sequence)
                following.removeAll()
            } else if identity.systemZone == nil {
                try takeZone(identity, event)
            }
        case .zoneDeleted:
            if event.zone == following.subscriptionsZone {
                following.removeAll()
            } else if let zone = try following.zone(event.zone, picture),
                zone.identity.systemZone == nil
            {
                // In this order: a subscription to the zone reports the deletion that ends it.
                try takeZone(zone.identity, event)
                end(zone.identity)
            }
        case .audienceEntered, .audienceLeft:
            try takePassage(event)
        case .requestNoted, .tombstonesForgotten, .compactionBegun:
            break
        }
    }

    private mutating func takeSubscription(_ event: LogEvent) throws(SyncError) {
        let stored = try event.readRecord()
        if stored.event.state == .live {
            try following.insert(stored.readBody(), at: event.sequence)
        } else if !CommitEnvelope.isOfStore(event.envelope.span.bytes) {
            // The store's own deletions were taken into account when they were decided.
            following.remove(Name(try stored.readTombstone().name))
        }
    }

    // MARK: Zones

    /// Notifies the subscriptions to a zone or its database that the zone began or ended.
    private mutating func takeZone(_ identity: ZoneIdentity, _ event: LogEvent) throws(SyncError) {
        guard let watch = try following.set.ordinal(of: identity.database), !identity.isImplicit,
            !identity.isAudience, let change = try change(event, in: identity)
        else { return }
        try fire(zoneWide(watch, change), change)
    }

    /// The subscriptions to a zone end with it, and so do those by query that look nowhere else.
    private mutating func end(_ zone: ZoneIdentity) {
        for name in following.set.subscriptions(boundTo: zone.zoneName, in: zone.database) {
            guard let number = following.set.number(of: name), let standing = following.set[number]
            else { continue }
            batch.end(name, savedAt: standing.sequence)
            following.set.remove(name)
        }
    }

    /// Returns a change by the commit of an event; `nil` for imports, whose changes were notified
    /// of at their origin.
    private func change(
        _ event: LogEvent,
        in zone: ZoneIdentity
    ) throws(SyncError) -> NotifiedChange? {
        // The flag is read from the bytes. The envelope is decoded only for an event that may fire
        // something.
        if CommitEnvelope.isOfImport(event.envelope.span.bytes) { return nil }
        let envelope = try store.reader.readEnvelope(event.envelope)
        return NotifiedChange(
            sequence: event.sequence,
            zone: zone,
            user: envelope.user.map { UserID($0) },
            device: envelope.device,
            time: event.commit.time
        )
    }

    // MARK: Records

    private mutating func takeRecord(
        _ event: LogEvent,
        in zone: Following.WatchedZone
    ) throws(SyncError) {
        // The usual event concerns no subscription. It costs one lookup of its zone.
        if zone.watch == nil, following.set.shared.isEmpty { return }
        let stored = try event.readRecord()
        let audience = try audience(of: stored)
        let isLive = stored.event.state == .live
        var body = isLive ? try stored.readBody() : nil
        let type: Name
        if let body {
            type = Name(body.recordType)
        } else {
            type = Name(try stored.readTombstone().type)
        }
        let watched = zone.watch.map { following.set.watches[$0] }
        let isWatched = watched?.concerns(type, zone.identity) ?? false
        guard isWatched || !audience.isEmpty, var change = try change(event, in: zone.identity)
        else { return }
        change.recordType = type
        change.reason =
            !isLive ? .deleted : stored.event.previousState == .live ? .updated : .created
        try fire(fitting(audience, change), change)
        guard let watch = zone.watch, isWatched else { return }
        // A touch is not an update by a user, but there is something to fetch.
        if let queries = watched?.queries[type], !stored.event.isTouch {
            // Only here is it worth reading the deleted record.
            if body == nil { body = try deletedBody(stored) }
            change.body = body
            change.recordName = body?.recordName
            if let body { try fire(matching(queries, body, change), change) }
        }
        if !zone.identity.isImplicit { try fire(zoneWide(watch, change), change) }
    }

    // MARK: Shares

    /// Returns the subscriptions of the users that see an event of a record in their shared
    /// databases.
    private mutating func audience(of event: StoredRecord) throws(SyncError) -> [Int] {
        if following.set.shared.isEmpty { return [] }
        let position = event.sequence
        // A user who sees the whole zone and also takes part in the record's share gets one
        // notification.
        let zoneWide = try sharers(of: event.zone, at: position)
        guard let key = event.event.audience?.key else { return zoneWide }
        let byShare = try sharers(of: key, at: position)
        return byShare + zoneWide.filter { !byShare.contains($0) }
    }

    /// Returns the subscriptions of the users that see the zone or the audience of a key, as of an
    /// event.
    private mutating func sharers(
        of key: ZoneKey,
        at position: SequenceNumber
    ) throws(SyncError) -> [Int] {
        guard let zone = try following.zone(key, picture)?.identity else { return [] }
        return try following.sharers.subscriptions(
            to: key,
            zone,
            among: following.set,
            asOf: position,
            store,
            picture
        )
    }

    /// Notifies the users that see a record by a share when it enters or leaves the share
    /// unchanged.
    private mutating func takePassage(_ event: LogEvent) throws(SyncError) {
        guard !following.set.shared.isEmpty, let zone = try following.zone(event.zone, picture)
        else {
            return
        }
        let passage = try SyncError.wrapping { () throws(EventFormatError) in
            try AudienceEvent(event.payload.span.bytes)
        }
        let audience = try sharers(of: passage.place.key, at: event.sequence)
        guard !audience.isEmpty, var change = try change(event, in: zone.identity) else { return }
        change.recordType = passage.type
        try fire(fitting(audience, change), change)
    }

    /// Notifies a user whose part in a share begins, ends or changes: that changes the data shared
    /// with the user.
    private mutating func takeParticipation(
        _ event: LogEvent,
        in zone: ZoneIdentity
    ) throws(SyncError) {
        // Without subscriptions to shared databases the parts are not followed, so the known ones
        // become stale.
        if following.set.shared.isEmpty {
            following.sharers = Sharers()
            return
        }
        let stored = try event.readRecord()
        guard stored.event.state == .live,
            let part = ShareRecords.participation(in: try stored.readBody())
        else { return }
        let database = zone.database.sibling(.shared, of: part.user)
        following.sharers.update(part, in: database)
        guard let numbers = following.set.shared[database],
            let change = try change(event, in: zone)
        else { return }
        try fire(fitting(numbers, change), change)
    }

    /// The version that a deletion ended; `nil` if it is not there any more.
    private func deletedBody(_ tombstone: StoredRecord) throws(SyncError) -> RecordBody? {
        let previous = tombstone.event.previous
        guard previous > 0 else { return nil }
        let stored = try store.reader.views.records(at: [previous])[0]
        return stored.event.state == .live ? try stored.readBody() : nil
    }

    /// The subscriptions to a zone's database or to the zone that a change in it concerns.
    private func zoneWide(_ watch: Int, _ change: NotifiedChange) -> [Int] {
        let watched = following.set.watches[watch]
        return fitting(watched.databaseWide + (watched.zones[change.zone.zoneName] ?? []), change)
    }

    /// Returns those of some subscriptions to zones and databases whose type matches a change.
    private func fitting(_ numbers: [Int], _ change: NotifiedChange) -> [Int] {
        numbers.filter { number in
            switch following.set[number]?.held.subscription.kind {
            case .zone(_, let type), .database(let type):
                type == nil || type == change.recordType
            case .query, nil: false
            }
        }
    }

    /// The subscriptions by query that a change of a record concerns.
    private mutating func matching(
        _ queries: PredicateIndex,
        _ body: RecordBody,
        _ change: NotifiedChange
    ) throws(SyncError) -> [Int] {
        candidates.removeAll(keepingCapacity: true)
        queries.appendCandidates(for: body, to: &candidates)
        // A number may come twice.
        candidates.sort()
        var matching: [Int] = []
        for number in candidates where matching.last != number {
            guard let standing = following.set[number],
                case .query(let query) = standing.held.subscription.kind,
                query.options.fires(for: change.reason),
                query.zone == nil || query.zone?.name == change.zone.zoneName,
                try matcher(of: standing, query, change).matches(body),
                try mayRead(body, standing.held.holder)
            else { continue }
            matching.append(number)
        }
        return matching
    }

    private func matcher(
        of standing: SubscriptionSet.Standing,
        _ query: Subscription.RecordQuery,
        _ change: NotifiedChange
    ) throws(SyncError) -> Query.Matcher {
        if let matcher = standing.matcher { return matcher }
        // The schema is that of the picture, which may be newer than the event: only the set of
        // searched fields depends on it.
        let type =
            store.reader.options.checksSchema
            ? try store.reader.schema(of: change.zone.database, picture)
                .excerpt(Name(query.recordType)).schema[Name(query.recordType)]
            : nil
        let searched = type?.fields.filter { $0.indexes.contains(.searchable) }.map(\.name.string)
        return try Query.Matcher(standing.predicate, now: change.time, searchedFields: searched)
    }

    /// Returns true if the holder of a subscription may read a record; in a public database roles
    /// decide.
    private mutating func mayRead(
        _ body: RecordBody,
        _ holder: SubscriptionHolder
    ) throws(SyncError) -> Bool {
        guard holder.database.scope == .public, store.reader.options.checksSchema else {
            return true
        }
        // Roles are those of the picture, not of the event. They are read once for each holder in
        // this stretch.
        if accesses[holder] == nil {
            let caller = Caller(database: holder.database, user: holder.user)
            accesses[holder] = try store.reader.access(of: caller, picture)
        }
        return try accesses[holder]?.refusal(of: .read, on: body) == nil
    }

    // MARK: Firing

    private mutating func fire(_ numbers: [Int], _ change: NotifiedChange) throws(SyncError) {
        if numbers.isEmpty { return }
        let sequence = change.sequence
        // All notifications of one event carry this tag, so that a client can recognize them as one
        // change.
        let tag = TagContent(of: sequence, in: store.reader.line).tag.text
        for number in numbers {
            guard let standing = following.set[number] else { continue }
            let save = try NotificationRecords.save(
                standing.held,
                change,
                tag: tag,
                characterLimit: store.reader.options.limits.charactersPerNotificationField
            )
            batch.add(save, for: standing.held.holder)
            if case .query(let query) = standing.held.subscription.kind,
                query.options.contains(.once)
            {
                batch.end(standing.held.recordName, savedAt: standing.sequence)
                // Removed at once, so that a later event of this stretch does not fire it again.
                following.set.remove(standing.held.recordName)
            }
        }
    }
}

extension Subscription.Options {
    /// Returns true if a change of a record fires a subscription with these options.
    fileprivate func fires(for reason: Subscription.Notification.Reason?) -> Bool {
        switch reason {
        case .created: contains(.create)
        case .updated: contains(.update)
        case .deleted: contains(.delete)
        case nil: false
        }
    }
}

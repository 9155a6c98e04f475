// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkEvents
package import TidemarkLog
package import TidemarkModel
import TidemarkViews

/// The parts of a store that reads of the past need: the zone views at one moment, and the events
/// that led there.
///
/// The views locate the newest event of a record, a zone or a share; the events name their
/// predecessors. Release a picture soon: while it exists, old pages of the view index cannot be
/// reused.
package struct PastPicture: Sendable {
    private let picture: ViewPicture
    /// The events.
    package var log: PastLog
    /// The time of the picture, by the store's clock, in milliseconds since 1970.
    package let now: Int64

    init(_ reader: Reader, showing points: [SequenceNumber]) throws(SyncError) {
        picture = try reader.picture(.visible)
        // The points stay readable: while the picture is held, no compaction drops events that it
        // needs.
        for point in points { _ = try reader.check(point, picture) }
        log = PastLog(source: reader.source, line: reader.line)
        now = reader.now()
    }

    /// The hashes of the store.
    package var hash: StoreHash { picture.hash }

    /// The last position that the picture shows.
    package var last: SequenceNumber { picture.bound }

    /// All zones of a database, those that have ended included, in the order of their last events.
    ///
    /// O(zones of the database).
    package func zones(of database: DatabaseID) throws(SyncError) -> [PastZone] {
        try SyncError.wrapping { () throws(ViewIndexError) in
            try picture.zones(of: database, after: 0, quiet: 0, limit: .max).map { PastZone($0) }
        }
    }

    /// Returns all epochs of a zone, or of all zones of a database that are not the store's own.
    ///
    /// Throws `zoneNotFound` if there never was such a zone.
    package func epochs(of database: DatabaseID, in zone: ZoneID?) throws(SyncError) -> [PastZone] {
        let zones = try zones(of: database)
        guard let zone else { return zones.filter { !$0.identity.isSystem } }
        let identity = ZoneIdentity(database: database, zoneName: zone.name)
        let epochs = zones.filter { $0.identity == identity }
        if epochs.isEmpty, !identity.isImplicit { throw .zoneNotFound(zone) }
        return epochs
    }

    /// The position up to which records of an epoch of a zone, deleted ones or all, may have been
    /// forgotten without a trace; zero if none were.
    package func forgottenThrough(_ epoch: PastZone) throws(SyncError) -> SequenceNumber {
        var position = epoch.tombstoneHorizon
        // Compaction drops all events of a zone that ended at or below the horizon. Then everything
        // up to its end is forgotten.
        let run = try SyncError.wrapping { () throws(ViewIndexError) in try picture.compaction() }
        if let run, let end = epoch.end, end <= run.horizon(of: epoch.identity) {
            position = max(position, end)
        }
        return position
    }

    /// Returns the audiences of a zone, including those of shares that have ended.
    ///
    /// O(shares of the zone's owner).
    package func audiences(of zone: ZoneIdentity) throws(SyncError) -> [PastZone] {
        let prefix = zone.audience(ofShare: "")
        return try zones(of: prefix.database).filter {
            $0.identity.zoneName.string.utf8.starts(with: prefix.zoneName.string.utf8)
        }
    }

    /// Returns the newest event of the record with a name in one epoch of a zone; `nil` if there
    /// never was such a record.
    ///
    /// One lookup, and one read of the log to verify the name.
    package func newestVersion(
        of name: Name,
        in epoch: ZoneKey
    ) throws(SyncError) -> RecordVersion? {
        var slot = hash.slot(ofName: name)
        // An event stores the probe count in one byte, so a name is at most 255 slots away from its
        // hash.
        for _ in 0...UInt8.max {
            let place = ViewKey(zone: epoch, slot: slot)
            guard let version = try newestVersion(at: place) else { return nil }
            let stored = try picture.views.records(at: [version.sequence])[0]
            let isFound = try SyncError.wrapping { () throws(EventFormatError) in
                try stored.hasName(name)
            }
            if isFound { return version }
            slot = slot.probed(1)
        }
        return nil
    }

    /// Finds the records of a name in other zones than one.
    ///
    /// Searches the zones that exist, at most `zoneLimit` of them: first those of the same
    /// database, then those of the same name in other databases, then the rest. In each group the
    /// zone that changed last comes first. Stops once `limit` records are found.
    ///
    /// O(zones of the store), and a lookup for each searched zone.
    package func namesakes(
        of name: Name,
        besides zone: ZoneIdentity,
        zoneLimit: Int,
        limit: Int
    ) throws(SyncError) -> Namesakes {
        func distance(_ other: ZoneIdentity) -> Int {
            if other.database == zone.database { return 0 }
            return other.zoneName == zone.zoneName ? 1 : 2
        }
        let standings = try SyncError.wrapping { () throws(ViewIndexError) in try picture.zones() }
        let zones = standings.filter { standing in
            standing.end == nil && !standing.identity.isSystem && standing.identity != zone
                && standing.identity.database.container != .server
        }
        .map { (distance: distance($0.identity), zone: $0) }
        .sorted { ($0.distance, $1.zone.head) < ($1.distance, $0.zone.head) }
        var found = Namesakes()
        for (_, zone) in zones.prefix(zoneLimit) {
            do throws(SyncError) {
                guard let version = try newestVersion(of: name, in: zone.key) else { continue }
                let isDeleted = version.state != .live
                found.places.append(Namesakes.Place(zone: zone.identity, isDeleted: isDeleted))
            } catch {
                // This is only a hint, so a damaged zone must not make the answer fail.
                found.unreadableCount += 1
            }
            if found.places.count == limit { return found }
        }
        if zones.count > zoneLimit { found.searchedCount = zoneLimit }
        return found
    }

    /// The newest event of a slot in a zone or an audience; `nil` if there is none.
    func newestVersion(at slot: ViewKey) throws(SyncError) -> RecordVersion? {
        try SyncError.wrapping { () throws(ViewIndexError) in try picture.version(at: slot) }
    }

    /// The last event of every record that an epoch of a zone has or had, oldest first.
    ///
    /// O(records).
    package func newestVersions(in epoch: ZoneKey) throws(SyncError) -> [RecordVersion] {
        try SyncError.wrapping { () throws(ViewIndexError) in
            try picture.changes(in: epoch, after: 0, quiet: 0, limit: .max)
        }
    }
}

/// The records of one name in other zones than the one in which it was expected.
package struct Namesakes: Sendable {
    /// A zone that has or had such a record.
    package struct Place: Sendable {
        /// The zone.
        package let zone: ZoneIdentity
        /// True if the record there was deleted.
        package let isDeleted: Bool
    }

    /// The zones with such a record.
    package fileprivate(set) var places: [Place] = []
    /// The number of searched zones; `nil` if there are no others.
    package fileprivate(set) var searchedCount: Int?
    /// The number of searched zones in which the record could not be looked up.
    package fileprivate(set) var unreadableCount = 0
}

/// The events of a store, for reads of the past.
package struct PastLog: Sendable {
    /// The source of the events.
    package let source: any EventSource
    /// The store's incarnations.
    package let line: IncarnationLine

    package init(source: any EventSource, line: IncarnationLine) {
        self.source = source
        self.line = line
    }

    /// Reads events by position, ascending, each at most once, until `visit` returns `false`.
    ///
    /// Events that the log does not have are skipped.
    package func read(
        _ sequences: [SequenceNumber],
        _ visit: (LogEvent) throws(EventFormatError) -> Bool
    ) throws(SyncError) {
        try source.visit(sequences, visit)
    }

    /// Visits the events of a stretch of the log, oldest first, until `visit` returns `false`:
    /// those of some zones alone, if zones are given.
    ///
    /// In segments with footers, blocks without events of a single zone are not read.
    package func scan(
        from first: SequenceNumber,
        through last: SequenceNumber,
        zones: Set<ZoneKey>? = nil,
        _ visit: (LogEvent) throws(EventFormatError) -> Bool
    ) throws(SyncError) {
        var failure: EventFormatError?
        func goesOn(after event: LogEvent) -> Bool {
            do throws(EventFormatError) {
                return try visit(event)
            } catch {
                failure = error
                return false
            }
        }
        try SyncError.wrapping { () throws(LogError) in
            if let zones, zones.count == 1, let zone = zones.first {
                try source.scan(zone: zone, from: first, through: last) { goesOn(after: $0) }
            } else {
                try source.scan(from: first, through: last) { event in
                    zones.map { $0.contains(event.zone) } ?? true ? goesOn(after: event) : true
                }
            }
        }
        if let failure { throw SyncError(failure) }
    }
}

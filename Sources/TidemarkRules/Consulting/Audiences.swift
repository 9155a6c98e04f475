// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkEvents
package import TidemarkLog
package import TidemarkModel

/// The audience of a record, before or after a commit.
package enum AudienceRef: Hashable, Sendable {
    /// No audience: the record is under no share.
    case none
    /// The audience of an existing share, by its key.
    case known(ZoneKey)
    /// The audience of a share that the commit begins, by the place of the share's record.
    case new(RecordPlace)
}

/// The audiences in a state of the store.
package struct Audiences {
    private let facts: any Facts
    private var living: [ZoneKey: Bool] = [:]
    /// The audiences of each database that was asked about, by the names of their zones.
    private var known: [DatabaseID: [Name: [LivingZone]]] = [:]

    package init(_ facts: any Facts) {
        self.facts = facts
    }

    /// Returns the audience of a record, by zone and slot.
    ///
    /// One lookup.
    package mutating func audience(of record: ViewKey) throws(SyncError) -> AudienceRef {
        // The index keeps the last audience of a record, also after it has ended. One that has
        // ended means none (views.md, "Tables").
        guard let key = try facts.audience(of: record), try isLiving(key) else { return .none }
        return .known(key)
    }

    /// Returns true if the share of an audience still exists.
    private mutating func isLiving(_ key: ZoneKey) throws(SyncError) -> Bool {
        if let known = living[key] { return known }
        let isLiving = try facts.endReason(of: key) == nil
        living[key] = isLiving
        return isLiving
    }

    /// Returns the latest audience of a share of a zone, and the place of its name.
    package func epoch(
        ofShare token: String,
        in zone: ZoneIdentity
    ) throws(SyncError) -> ZoneEpoch {
        try facts.epoch(of: zone.audience(ofShare: token))
    }

    /// Returns the key of a share's audience; `nil` if the share does not exist or is of a whole
    /// zone.
    package func key(ofShare token: String, in zone: ZoneIdentity) throws(SyncError) -> ZoneKey? {
        let epoch = try epoch(ofShare: token, in: zone)
        return epoch.end == nil ? epoch.key : nil
    }

    /// Returns all audiences of a zone.
    ///
    /// O(shares of the zone's owner) the first time.
    package mutating func all(in zone: ZoneIdentity) throws(SyncError) -> [LivingZone] {
        let database = zone.audience(ofShare: "").database
        if known[database] == nil {
            // The name of an audience is the name of its zone, a NUL, and the token of the share.
            known[database] = Dictionary(grouping: try facts.zones(of: database)) { audience in
                let name = audience.identity.zoneName.string.unicodeScalars.prefix { $0 != "\0" }
                return Name(String(name))
            }
        }
        return known[database]?[zone.zoneName] ?? []
    }

    /// Returns the place of a record in an audience.
    package func place(of slot: Slot, in key: ZoneKey) throws(SyncError) -> AudiencePlace {
        let version = try facts.version(at: ViewKey(zone: key, slot: slot))
        return AudiencePlace(
            key: key,
            previous: version?.sequence ?? 0,
            previousState: version?.state
        )
    }
}

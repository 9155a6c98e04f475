// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkEvents
package import TidemarkLog
package import TidemarkModel

/// A zone that a request names, and its state.
package struct ConsultedZone: Sendable {
    /// The zone as the request names it.
    package var zone: ZoneID
    /// The identity of the zone in the store.
    package var identity: ZoneIdentity
    /// The zone's key; `nil` if the request's commit has to create the zone.
    package var key: ZoneKey?
    /// The place of the zone's name, which may still be free.
    package var place: ViewKey
    /// The distance of that place from the name's hash.
    package var probeCount: UInt8
    /// The error that prevents all operations in the zone; `nil` if there is none.
    package var error: SyncError?
    /// The highest position that the lookup depends on.
    package var lookedAt: SequenceNumber
}

/// The zones of one request, each once, in the order of first use.
package struct ConsultedZones: Sendable {
    package private(set) var zones: [ConsultedZone] = []
    /// Empty while there are few zones, because comparing those costs less than hashing their
    /// names.
    private var indexes: [ZoneID: Int] = [:]
    private static let fewZones = 8
    private var lastIndex = 0
    /// True if system zones may be named, as an operator may.
    private var includesSystem = false
    /// The zones that a shared database shows; `nil` for every other database.
    package let shared: SharedZones?

    /// The zones that are created when a request names them.
    package enum Creation: Sendable {
        /// The default zone only.
        case implicit
        /// Every zone: an operator's import.
        case every
        /// No zone: the request only reads.
        case none
    }

    package init(includesSystem: Bool = false, shared: SharedZones? = nil) {
        self.includesSystem = includesSystem
        self.shared = shared
    }

    /// Creates the zones from earlier lookups.
    package init(_ zones: [ConsultedZone]) {
        self.zones = zones
        shared = nil
    }

    /// The zone with an index.
    @inlinable @inline(__always)
    package subscript(index: Int) -> ConsultedZone { zones[index] }

    /// Returns the key of the zone with an index; `nil` if the request's commit has to create it.
    @inlinable @inline(__always)
    package func key(of index: Int) -> ZoneKey? { zones[index].key }

    /// Returns the error that prevents all operations in a zone; `nil` if there is none.
    @inlinable @inline(__always)
    package func error(of index: Int) -> SyncError? { zones[index].error }

    /// Returns a participant's access to the zone with an index; `nil` for the users of the zone's
    /// own database.
    package func access(of index: Int) -> ZoneAccess? { shared?.zones[zones[index].zone] }

    /// Returns the index of a zone, which is looked up at its first use, for every spelling of its
    /// owner.
    package mutating func index(
        of zone: ZoneID,
        in database: DatabaseID,
        creating creation: Creation,
        _ facts: any Facts,
        _ limits: Limits
    ) throws(SyncError) -> Int {
        // Items of a request mostly follow each other in one zone, so this comparison usually
        // suffices.
        if lastIndex < zones.count, zones[lastIndex].zone == zone { return lastIndex }
        if zones.isEmpty {
            zones.append(try consult(zone, in: database, creating: creation, facts, limits))
            return 0
        }
        if let index = known(zone) ?? otherSpelling(of: zone, in: database).flatMap(known) {
            lastIndex = index
            return index
        }
        zones.append(try consult(zone, in: database, creating: creation, facts, limits))
        lastIndex = zones.count - 1
        if !indexes.isEmpty {
            indexes[zone] = lastIndex
        } else if zones.count > Self.fewZones {
            for (index, consulted) in zones.enumerated() { indexes[consulted.zone] = index }
        }
        return lastIndex
    }

    /// Returns the index of a zone that was used before with this owner name.
    private func known(_ zone: ZoneID) -> Int? {
        indexes.isEmpty ? zones.firstIndex { $0.zone == zone } : indexes[zone]
    }

    /// Returns the same zone with its owner's name, or with the caller's default name in its place;
    /// `nil` for zones of other users.
    private func otherSpelling(of zone: ZoneID, in database: DatabaseID) -> ZoneID? {
        let owner = database.owner
        // An owner without another name has one spelling, and so has every zone of a shared
        // database.
        guard shared == nil, owner != .current else { return nil }
        if zone.owner == UserID.current.name {
            return ZoneID(zoneName: zone.zoneName, ownerName: owner.userRecordName)
        }
        return zone.owner == owner.name ? ZoneID(zoneName: zone.zoneName) : nil
    }

    private func consult(
        _ zone: ZoneID,
        in database: DatabaseID,
        creating creation: Creation,
        _ facts: any Facts,
        _ limits: Limits
    ) throws(SyncError) -> ConsultedZone {
        var identity = ZoneIdentity(database: database, zoneName: zone.name)
        // All participations in a zone have the same owner and zone name, so any of them will do.
        if let part = shared?.zones[zone]?.participations.first?.value {
            identity = part.zoneIdentity(in: database)
        }
        var error = refusal(of: zone, in: database, limits)
        var epoch: ZoneEpoch?
        if error == nil {
            let found = try facts.epoch(of: identity)
            error = try absence(of: zone, identity, found, creating: creation, facts)
            epoch = found
        }
        // The answer rests on the last beginning or end of the zone, which may not be durable yet.
        let lookedAt = epoch?.end ?? epoch?.key?.creation ?? 0
        // Made at once: a value that is completed step by step is copied when it is returned.
        return ConsultedZone(
            zone: zone,
            identity: identity,
            key: epoch.flatMap { $0.end == nil ? $0.key : nil },
            place: epoch?.place ?? ViewKey(0, 0),
            probeCount: epoch?.probeCount ?? 0,
            error: error,
            lookedAt: max(shared?.lookedAt ?? 0, lookedAt)
        )
    }

    /// Returns the error for a name that no zone may have, or a zone that the caller does not see.
    private func refusal(of zone: ZoneID, in database: DatabaseID, _ limits: Limits) -> SyncError? {
        do throws(SyncError) {
            if !(includesSystem && zone.isSystem) { try limits.check(zone: zone) }
        } catch {
            return error
        }
        let isShown =
            shared.map { $0.zones[zone] != nil }
            ?? (zone.owner == UserID.current.name || zone.owner == database.owner.name)
        return isShown ? nil : .zoneNotFound(zone, in: database)
    }

    /// Returns the error for a zone that does not exist, unless the request creates it.
    private func absence(
        of zone: ZoneID,
        _ identity: ZoneIdentity,
        _ epoch: ZoneEpoch,
        creating creation: Creation,
        _ facts: any Facts
    ) throws(SyncError) -> SyncError? {
        if epoch.key != nil, epoch.end == nil { return nil }
        let comesIntoBeing =
            switch creation {
            case .every: true
            case .implicit: identity.isImplicit
            case .none: false
            }
        if comesIntoBeing { return nil }
        // The reason decides the error: after a purge it is `userDeletedZone` (semantics.md,
        // "Zones").
        let reason = try epoch.key.flatMap { (key) throws(SyncError) in
            try facts.endReason(of: key)
        }
        return .zoneGone(zone, reason ?? .deleted)
    }
}

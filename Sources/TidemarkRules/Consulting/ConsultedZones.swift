// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkEvents
package import TidemarkLog
package import TidemarkModel

/// A zone that a request names, and what a picture says about it.
package struct ConsultedZone: Sendable {
    /// The zone as the request names it.
    package var zone: ZoneID
    /// Which zone of the store that is.
    package var identity: ZoneIdentity
    /// Its key; `nil` if the request's commit has to create it.
    package var key: ZoneKey?
    /// Where its name is, or goes.
    package var place: ViewKey
    /// How far that is from the name's hash.
    package var probeCount: UInt8
    /// Why nothing can be done in it; `nil` if something can.
    package var error: SyncError?
    /// The highest position that this rests on.
    package var lookedAt: SequenceNumber
}

/// The zones of one request, each once, in the order in which they are first named.
package struct ConsultedZones: Sendable {
    package private(set) var zones: [ConsultedZone] = []
    /// Empty while there are few zones: comparing those costs less than hashing their names.
    private var indexes: [ZoneID: Int] = [:]
    private static let fewZones = 8
    private var lastIndex = 0
    /// Whether zones may be named that the store keeps for itself: by an operator.
    private var includesSystem = false
    /// The zones that a shared database shows; `nil` for every other database.
    package let shared: SharedZones?

    /// Which zones come into being when a request names them.
    package enum Creation: Sendable {
        /// The default zone only.
        case implicit
        /// Every zone: an operator's import.
        case every
        /// None: the request only reads.
        case none
    }

    package init(includesSystem: Bool = false, shared: SharedZones? = nil) {
        self.includesSystem = includesSystem
        self.shared = shared
    }

    /// Zones that were looked up before.
    package init(_ zones: [ConsultedZone]) {
        self.zones = zones
        shared = nil
    }

    /// The zone with an index.
    @inlinable @inline(__always)
    package subscript(index: Int) -> ConsultedZone { zones[index] }

    /// The key of the zone with an index; `nil` if the request's commit has to create it.
    @inlinable @inline(__always)
    package func key(of index: Int) -> ZoneKey? { zones[index].key }

    /// Why nothing can be done in the zone with an index; `nil` if something can.
    @inlinable @inline(__always)
    package func error(of index: Int) -> SyncError? { zones[index].error }

    /// What a participant may do in the zone with an index; `nil` for those whose database it is in.
    package func access(of index: Int) -> ZoneAccess? { shared?.zones[zones[index].zone] }

    /// The index of a zone, looked up at its first mention, however its owner is spelled.
    package mutating func index(
        of zone: ZoneID,
        in database: DatabaseID,
        creating creation: Creation,
        _ facts: any Facts,
        _ limits: Limits
    ) throws(SyncError) -> Int {
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

    /// The index of a zone that was mentioned before under this name of its owner.
    private func known(_ zone: ZoneID) -> Int? {
        indexes.isEmpty ? zones.firstIndex { $0.zone == zone } : indexes[zone]
    }

    /// The same zone with its owner named, or with whoever asks in the owner's place; `nil` for zones
    /// of others.
    private func otherSpelling(of zone: ZoneID, in database: DatabaseID) -> ZoneID? {
        let owner = database.owner
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
        var identity = ZoneIdentity(database: database, zoneName: Name(zone.zoneName))
        if let part = shared?.zones[zone]?.parts.first?.value {
            identity = part.zoneIdentity(in: database)
        }
        var consulted = ConsultedZone(
            zone: zone,
            identity: identity,
            place: ViewKey(0, 0),
            probeCount: 0,
            lookedAt: shared?.lookedAt ?? 0
        )
        do throws(SyncError) {
            if !(includesSystem && zone.isSystem) { try limits.check(zone: zone) }
        } catch {
            consulted.error = error
            return consulted
        }
        let isShown =
            shared.map { $0.zones[zone] != nil }
            ?? (zone.ownerName == ZoneID.currentOwner
                || zone.owner == database.owner.name)
        guard isShown else {
            consulted.error = .zoneNotFound(zone, in: database)
            return consulted
        }
        let epoch = try facts.epoch(of: identity)
        consulted.place = epoch.place
        consulted.probeCount = epoch.probeCount
        consulted.lookedAt = max(consulted.lookedAt, epoch.end ?? epoch.key?.creation ?? 0)
        if let key = epoch.key, epoch.end == nil {
            consulted.key = key
            return consulted
        }
        let comesIntoBeing =
            switch creation {
            case .every: true
            case .implicit: identity.isImplicit
            case .none: false
            }
        if !comesIntoBeing {
            let reason = try epoch.key.flatMap { (key) throws(SyncError) in
                try facts.endReason(of: key)
            }
            consulted.error = .zoneGone(zone, reason ?? .deleted)
        }
        return consulted
    }
}

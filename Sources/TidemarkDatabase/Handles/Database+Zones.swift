// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import TidemarkModel

extension Database {
    /// Returns a handle of the zone with a name, without a request: the zone need not exist yet.
    ///
    /// In a shared database a zone is named with its owner.
    public func zone(_ name: String, owner: String = ZoneID.currentOwner) -> ZoneHandle {
        zone(ZoneID(zoneName: name, ownerName: owner))
    }

    /// Returns the zone of an identity.
    public func zone(_ id: ZoneID) -> ZoneHandle { ZoneHandle(self, id) }

    /// The zone that every public and private database has.
    ///
    /// Its records are saved independently: it has no atomic batches.
    public var defaultZone: ZoneHandle { zone(.default) }

    /// Creates a zone; one that exists is left as it is.
    ///
    /// Durable when it returns.
    @discardableResult
    public func createZone(_ name: String) async throws -> ZoneHandle {
        let request = ModifyZonesRequest(saves: [ZoneID(zoneName: name)])
        let result = try await service.modifyZones(request, as: caller)
        return zone(try result.saves.only().zoneID)
    }

    /// Deletes a zone with its content.
    ///
    /// Durable when it returns.
    public func deleteZone(_ name: String) async throws {
        let request = ModifyZonesRequest(deletions: [ZoneID(zoneName: name)])
        _ = try await service.modifyZones(request, as: caller).deletions.only()
    }

    /// Returns the zones of the database, in the order of their names' bytes.
    public func zones() async throws -> [ZoneHandle] {
        try await service.zones(as: caller).map { zone($0.zoneID) }
    }
}

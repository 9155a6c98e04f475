// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkModel

/// `zones/list`, `zones/lookup` and `zones/modify`.
extension WebServices {
    func listZones(_ request: WebRequest) async throws(WebError) -> [UInt8] {
        let zones = try await zones(request.caller)
        var writer = WebWriter(self, request)
        writer.literal("{\"zones\":")
        writer.list(zones) { $0.zone($1) }
        return writer.finished()
    }

    /// Returns the zones of the caller's database; the default zone is always one, but for a shared
    /// database.
    private func zones(_ caller: Caller) async throws(WebError) -> [Zone] {
        let zones = try await ask { (it) throws(SyncError) in try await it.zones(as: caller) }
        if caller.database.scope == .shared || zones.contains(where: { $0.zoneID.isDefault }) {
            return zones
        }
        return [Zone(zoneID: .default, capabilities: [])] + zones
    }

    func lookUpZones(_ request: WebRequest) async throws(WebError) -> [UInt8] {
        var named: [ZoneID]?
        try request.read { (it, name) throws(JSONError) in
            guard name == "zones" else { return false }
            named = try it.values { (it) throws(JSONError) in try it.wrappedZoneID() }
            return true
        }
        let wanted = try checked(named, "zones")
        let zones = try await zones(request.caller)
        let byID = Dictionary(zones.map { ($0.zoneID, $0) }) { first, _ in first }
        var writer = WebWriter(self, request)
        writer.literal("{\"zones\":")
        writer.list(wanted) { writer, zoneID in
            if let zone = byID[zoneID] {
                writer.zone(zone)
            } else {
                let reason = "Zone '\(zoneID.zoneName)' does not exist"
                writer.failure(WebError("ZONE_NOT_FOUND", status: 404, reason), ofZone: zoneID)
            }
        }
        return writer.finished()
    }

    func modifyZones(_ request: WebRequest) async throws(WebError) -> [UInt8] {
        guard request.caller.user != nil else { throw .authenticationRequired }
        var given: [(isDeletion: Bool, zone: ZoneID)]?
        try request.read { (it, name) throws(JSONError) in
            guard name == "operations" else { return false }
            given = try it.values { (it) throws(JSONError) in try it.zoneOperation() }
            return true
        }
        let operations = try checked(given, "operations")
        var writer = WebWriter(self, request)
        writer.literal("{\"zones\":[")
        // Zones are processed in order: one request may delete a zone and create it again.
        for (index, operation) in operations.enumerated() {
            if index > 0 { writer.literal(",") }
            let modify =
                operation.isDeletion
                ? ModifyZonesRequest(deletions: [operation.zone])
                : ModifyZonesRequest(saves: [operation.zone])
            var caller = request.caller
            // Each operation is a request of its own. The service rejects a second request under
            // the same id, if its content is another.
            if let id = caller.requestID, operations.count > 1 {
                caller.requestID = "\(id)#\(index)"
            }
            do throws(WebError) {
                let result = try await ask { (it) throws(SyncError) in
                    try await it.modifyZones(modify, as: caller)
                }
                switch (result.saves.first, result.deletions.first) {
                case (.success(let zone)?, _): writer.zone(zone)
                case (_, .success(let zoneID)?):
                    writer.literal("{\"zoneID\":")
                    writer.zoneID(zoneID)
                    writer.literal(",\"deleted\":true}")
                case (.failure(let error)?, _), (_, .failure(let error)?):
                    throw WebError(error)
                case (nil, nil): throw .badRequest("The service returned no result for this zone.")
                }
            } catch {
                // If the user of a request is unknown, the error applies to all its zones.
                if error.code == "AUTHENTICATION_REQUIRED" { throw error }
                writer.failure(error, ofZone: operation.zone)
            }
        }
        writer.literal("]")
        return writer.finished()
    }
}

extension JSONReader {
    /// Reads a zone's identity, plain or as the member `zoneID` of a zone.
    fileprivate mutating func wrappedZoneID() throws(JSONError) -> ZoneID {
        // A copy of the reader. If the object has no member `zoneID`, it is read a second time as
        // the identity itself.
        var ahead = self
        var wrapped: ZoneID?
        try ahead.members { (it, name) throws(JSONError) in
            guard name == "zoneID" else { return false }
            wrapped = try it.zoneID()
            return true
        }
        guard let wrapped else { return try zoneID() }
        self = ahead
        return wrapped
    }

    fileprivate mutating func zoneOperation() throws(JSONError) -> (isDeletion: Bool, zone: ZoneID)
    {
        let start = offset
        var kind: String?
        var zone: ZoneID?
        try members { (it, name) throws(JSONError) in
            switch name {
            case "operationType": kind = try it.string()
            case "zone": zone = try it.wrappedZoneID()
            default: return false
            }
            return true
        }
        guard let zone else { throw JSONError("The member \"zone\" is missing.", at: start) }
        switch kind {
        case "create": return (false, zone)
        case "delete": return (true, zone)
        default:
            throw JSONError("The operationType of a zone is create or delete.", at: start)
        }
    }
}

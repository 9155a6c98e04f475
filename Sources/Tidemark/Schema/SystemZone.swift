// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkModel

/// A zone that the store keeps for itself, in the public database of each container and environment.
///
/// Its records are ordinary ones, so that history, exports and imports hold them. Clients do not see
/// the zone, and cannot name it: zone names with a leading underscore are refused.
package enum SystemZone: String, CaseIterable, Sendable {
    /// The schema: a record for each record type and custom role.
    case schema = "_schema"
    /// Which custom roles users have: a record for each who has any.
    case roles = "_roles"
    /// Who users are: a record for each account, and one for each address that leads to one.
    case users = "_users"
    /// Sharing: a record for each link to a share, and one for each user who takes part in one.
    case shares = "_shares"

    /// The zone of a name.
    package init?(_ name: Name) {
        guard let zone = Self.allCases.first(where: { $0.zone.name == name }) else { return nil }
        self = zone
    }

    /// How a request or a line of a change stream names it.
    package var zone: ZoneID { ZoneID(zoneName: rawValue) }
}

extension ZoneID {
    /// Whether the store keeps the zone for itself.
    package var isSystem: Bool { SystemZone(Name(zoneName)) != nil }
}

extension ZoneIdentity {
    /// Whether the store keeps the zone for itself.
    package var isSystem: Bool {
        isAudience || database.scope == .public && SystemZone(zoneName) != nil
    }
}

extension DatabaseID {
    /// The database of the same container and environment that has the system zones.
    package var ofSystemZones: DatabaseID {
        DatabaseID(container: container, environment: environment, scope: .public)
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkModel

/// A zone that the store keeps for itself.
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
    /// The subscriptions of all users of the store: a record for each.
    case subscriptions = "_subscriptions"
    /// The notifications of one user: a record for each that was not read.
    case notifications = "_notifications"
    /// How far the store has come in making notifications: one record.
    case notified = "_notified"

    /// The zone of a name.
    package init?(_ name: Name) {
        guard name.string.utf8.first == UInt8(ascii: "_"),
            let zone = Self.allCases.first(where: { $0.zone.name == name })
        else { return nil }
        self = zone
    }

    /// How a request or a line of a change stream names it.
    package var zone: ZoneID { ZoneID(zoneName: rawValue) }

    /// The database that has the zone, for requests to a database.
    package func home(for database: DatabaseID) -> DatabaseID {
        switch self {
        case .schema, .roles, .users, .shares: database.ofSystemZones
        case .subscriptions, .notified: .ofStore
        case .notifications: database.ofNotifications
        }
    }

    /// Whether decisions about other zones rest on what it says.
    package var isRestedOn: Bool {
        switch self {
        case .schema, .roles, .users, .shares: true
        case .subscriptions, .notifications, .notified: false
        }
    }
}

extension ZoneID {
    /// Whether the store keeps the zone for itself.
    package var isSystem: Bool { SystemZone(Name(zoneName)) != nil }
}

extension ZoneIdentity {
    /// Whether the store keeps the zone for itself.
    package var isSystem: Bool { isAudience || systemZone != nil || isErasureMark }

    /// Which of the zones it is that the store keeps for itself; `nil` for other zones.
    package var systemZone: SystemZone? {
        guard let zone = SystemZone(zoneName), zone.home(for: database) == database else {
            return nil
        }
        return zone
    }
}

extension DatabaseID {
    /// The database of the same container and environment that has the system zones.
    package var ofSystemZones: DatabaseID {
        DatabaseID(container: container, environment: environment, scope: .public)
    }

    /// The database with the notifications of whoever owns a database: the owner's private one.
    package var ofNotifications: DatabaseID {
        DatabaseID(container: container, environment: environment, scope: .private, owner: owner)
    }

    /// The database of what belongs to no container: no client can name it.
    package static let ofStore = DatabaseID(
        container: ContainerID(""),
        environment: .production,
        scope: .public
    )
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkModel

/// A zone that the store uses for its own data.
///
/// Its records are ordinary ones, so that history, exports and imports include them. Clients
/// neither see the zone nor can name it: zone names with a leading underscore are rejected.
package enum SystemZone: String, CaseIterable, Sendable {
    /// The schema: a record for each record type and custom role.
    case schema = "_schema"
    /// The custom roles of users: a record for each user with any role.
    case roles = "_roles"
    /// The accounts of users: a record for each account, and one for each address of an account.
    case users = "_users"
    /// The links and participations of shares: a record for each link, and one for each
    /// participation.
    case shares = "_shares"
    /// The subscriptions of all users of the store: a record for each.
    case subscriptions = "_subscriptions"
    /// The unread notifications of one user: a record for each.
    case notifications = "_notifications"
    /// The progress of creating notifications: one record.
    case notified = "_notified"

    /// Creates the system zone with a name.
    package init?(_ name: Name) {
        guard name.isReserved,
            let zone = Self.allCases.first(where: { $0.zone.name == name })
        else { return nil }
        self = zone
    }

    /// The zone's id in a request or a line of a change stream.
    package var zone: ZoneID { ZoneID(zoneName: rawValue) }

    /// Returns the database that has the zone, for requests to a database.
    package func home(for database: DatabaseID) -> DatabaseID {
        switch self {
        case .schema, .roles, .users, .shares: database.ofSystemZones
        case .subscriptions, .notified: .ofStore
        case .notifications: database.ofNotifications
        }
    }

    /// True if decisions about other zones depend on the zone's content.
    package var isRestedOn: Bool {
        switch self {
        case .schema, .roles, .users, .shares: true
        case .subscriptions, .notifications, .notified: false
        }
    }
}

extension ZoneID {
    /// True if the zone is a system zone.
    package var isSystem: Bool { SystemZone(Name(zoneName)) != nil }
}

extension ZoneIdentity {
    /// True if the zone is a system zone, an audience or an erasure mark.
    package var isSystem: Bool { isAudience || isErasureMark || systemZone != nil }

    /// The system zone with the zone's identity; `nil` for other zones.
    package var systemZone: SystemZone? {
        // The name alone does not decide: the zone must also be in the database where the store
        // keeps it.
        guard zoneName.isReserved, let zone = SystemZone(zoneName),
            zone.home(for: database) == database
        else { return nil }
        return zone
    }
}

extension Name {
    /// True if the name begins as those of system zones do.
    ///
    /// Decides for nearly all names without comparing them with each case.
    @inline(__always)
    fileprivate var isReserved: Bool { firstByte == UInt8(ascii: "_") }
}

extension DatabaseID {
    /// The database of the same container and environment that has the system zones.
    package var ofSystemZones: DatabaseID {
        DatabaseID(container: container, environment: environment, scope: .public)
    }

    /// The database with the notifications of a database's owner: the owner's private one.
    package var ofNotifications: DatabaseID {
        DatabaseID(container: container, environment: environment, scope: .private, owner: owner)
    }

    /// The database for data that belongs to no container; no client can name it.
    package static let ofStore = DatabaseID(
        container: ContainerID(""),
        environment: .production,
        scope: .public
    )
}

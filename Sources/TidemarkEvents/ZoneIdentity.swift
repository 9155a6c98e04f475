// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLog
package import TidemarkModel

/// The identity of a zone among all zones and databases of a store.
///
/// The zone's creation event contains it, and all later epochs of the zone share it.
package struct ZoneIdentity: Hashable, Sendable {
    /// The database it is in.
    package let database: DatabaseID
    /// Its name, unique in that database.
    package let zoneName: Name

    /// Creates the identity of a zone.
    package init(database: DatabaseID, zoneName: Name) {
        self.database = database
        self.zoneName = zoneName
    }

    /// The zone's id for the owner of its database.
    package var zone: ZoneID { ZoneID(zoneName: zoneName.string) }

    /// Returns true if a client of a database means this zone by an id.
    ///
    /// A shared database shows zones of other users, named with their owners.
    package func isNamed(_ zone: ZoneID, in database: DatabaseID) -> Bool {
        guard zone.name == zoneName else { return false }
        guard database.scope == .shared else { return database == self.database }
        // The shared database of a user holds zones of other users' private databases, so only
        // container and environment agree.
        return database.container == self.database.container
            && database.environment == self.database.environment
            && zone.owner == self.database.owner.name
    }

    /// True if the first write to the zone creates it.
    ///
    /// Such zones are not atomic.
    package var isImplicit: Bool {
        zoneName == Self.defaultName && database.scope != .shared
    }

    private static let defaultName = Name(ZoneID.defaultZoneName)

    /// The bytes that name the zone in its creation event and in the view index.
    package var bytes: [UInt8] {
        var bytes = database.identityBytes
        bytes.append(string: zoneName.string)
        return bytes
    }

    /// Reads the bytes that `bytes` returned and moves past them; `nil` for other bytes.
    package init?(_ span: RawSpan, at offset: inout Int) {
        // Assigned back only on success, so that the caller's offset stays where it was otherwise.
        var position = offset
        guard let database = DatabaseID(span, at: &position),
            let zone = span.string(at: &position)
        else { return nil }
        offset = position
        self.init(database: database, zoneName: Name(zone))
    }
}

extension DatabaseID {
    /// Reads the bytes that `identityBytes` returned and moves past them; `nil` for other bytes.
    package init?(_ span: RawSpan, at offset: inout Int) {
        guard offset < span.byteCount,
            let scope = DatabaseScope(rawValue: Int(span.byte(at: offset)))
        else { return nil }
        var position = offset + 1
        guard let container = span.string(at: &position),
            let environmentName = span.string(at: &position),
            let environment = Environment(rawValue: environmentName),
            let owner = span.string(at: &position)
        else { return nil }
        offset = position
        self.init(
            container: ContainerID(container),
            environment: environment,
            scope: scope,
            owner: UserID(owner)
        )
    }

    /// The bytes that name a database: scope, container, environment, owner.
    package var identityBytes: [UInt8] {
        var bytes: [UInt8] = [UInt8(scope.rawValue)]
        bytes.append(string: container.identifier)
        bytes.append(string: environment.rawValue)
        bytes.append(string: owner.userRecordName)
        return bytes
    }
}

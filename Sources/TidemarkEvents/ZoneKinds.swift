// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkModel

extension ZoneIdentity {
    /// Returns the audience of a share: the records that it shows to its participants.
    ///
    /// The audience is stored as a zone of its own, which clients do not see; no name contains NUL.
    /// If a share is created again under the same name, it has another token, and thus another
    /// audience.
    package func audience(ofShare token: String) -> ZoneIdentity {
        ZoneIdentity(
            database: DatabaseID(
                container: database.container,
                environment: database.environment,
                scope: .shared,
                owner: database.owner
            ),
            // The NUL separates: otherwise the zone `a` with the token `bc` and the zone `ab` with
            // the token `c` would share an audience.
            zoneName: Name(zoneName.string + "\0" + token)
        )
    }

    /// True if this is the audience of a share.
    package var isAudience: Bool { database.scope == .shared }
}

/// Zones without a name, which an erasure creates and deletes to record in a database that data was
/// removed of which no other trace is left.
extension ZoneIdentity {
    /// True if this is an erasure mark, not a zone.
    package var isErasureMark: Bool { zoneName.string.isEmpty }

    /// Returns the erasure mark of a database.
    package static func erasureMark(of database: DatabaseID) -> ZoneIdentity {
        ZoneIdentity(database: database, zoneName: Name(""))
    }
}

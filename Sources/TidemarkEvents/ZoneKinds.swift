// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkModel

extension ZoneIdentity {
    /// The list of the records that a share shows to those who take part in it.
    ///
    /// It is kept as a zone of its own, which clients do not see; NUL is in no name. A share that
    /// is made again under the same name has another token, and so another audience.
    package func audience(ofShare token: String) -> ZoneIdentity {
        ZoneIdentity(
            database: DatabaseID(
                container: database.container,
                environment: database.environment,
                scope: .shared,
                owner: database.owner
            ),
            zoneName: Name(zoneName.string + "\0" + token)
        )
    }

    /// Whether this is the list of the records that a share shows.
    package var isAudience: Bool { database.scope == .shared }
}

/// Zones without a name: created and deleted by an erasure, to say in a database that something is
/// gone from it of which nothing else is left.
extension ZoneIdentity {
    /// Whether it is such a mark, and no zone.
    package var isErasureMark: Bool { zoneName.string.isEmpty }

    /// The mark of a database.
    package static func erasureMark(of database: DatabaseID) -> ZoneIdentity {
        ZoneIdentity(database: database, zoneName: Name(""))
    }
}

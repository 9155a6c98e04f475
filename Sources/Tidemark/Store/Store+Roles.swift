// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
public import TidemarkModel
import TidemarkRules
import TidemarkViews

extension Store {
    /// The custom roles that a user has in a container's environment.
    public func roles(
        of user: UserID,
        of container: ContainerID = .standard,
        in environment: Environment = .development
    ) throws(SyncError) -> [Schema.Role] {
        let parts = try parts
        let database = DatabaseID(container: container, environment: environment, scope: .public)
        let picture = try parts.reader.picture(.visible)
        return try RoleRecords.roles(in: parts.reader.rolesRecord(of: user, in: database, picture))
    }

    /// Sets the custom roles of a user, replacing earlier ones; with an operator's authority.
    ///
    /// Durable when it returns. Throws `invalidArguments` for a role that the environment's schema
    /// does not have.
    public func setRoles(
        _ roles: [Schema.Role],
        of user: UserID,
        of container: ContainerID = .standard,
        in environment: Environment = .development
    ) async throws(SyncError) {
        let database = DatabaseID(container: container, environment: environment, scope: .public)
        try await parts.writer().setRoles(roles, of: user, in: database)
    }
}

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
        let engine = try engine
        let database = DatabaseID(container: container, environment: environment, scope: .public)
        let picture = try engine.picture(.visible)
        return try RoleRecords.roles(in: engine.rolesRecord(of: user, in: database, picture))
    }

    /// Says which custom roles a user has, instead of those from before; with an operator's
    /// authority.
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
        try await engine.setRoles(roles, of: user, in: database)
    }
}

/// How the custom roles of users are written as records of the zone `_roles`: one record for each
extension Engine {
    /// The record with a user's roles; `nil` if there is none.
    func rolesRecord(
        of user: UserID,
        in database: DatabaseID,
        _ picture: ViewPicture
    ) throws(SyncError) -> StoredRecord? {
        try picture.facts.record(named: user.name, of: .roles, in: database)
    }

    /// See ``Store/setRoles(_:of:of:in:)``.
    func setRoles(
        _ roles: [Schema.Role],
        of user: UserID,
        in database: DatabaseID
    ) async throws(SyncError) {
        let committer = try writer().committer
        try options.limits.check(Caller(database: database, user: user))
        try await committer.waitForRoom()
        while true {
            let picture = try picture(.appended)
            let schema = try schema(of: database, picture)
            if let role = roles.first(where: { $0.isBuiltIn || !schema.schema.knows($0) }) {
                try await committer.waitUntilDurable(
                    SequenceNumber(rawValue: schema.lastSequence)
                )
                throw SyncError(
                    .invalidArguments,
                    "The schema has no custom role \(role); add CREATE ROLE \(role) to it."
                )
            }
            let old = try rolesRecord(of: user, in: database, picture)
            if try RoleRecords.roles(in: old) == roles {
                try await committer.waitUntilDurable(old?.sequence ?? .zero)
                return
            }
            let change = try RoleRecords.change(roles, of: user)
            let caller = Caller(database: database)
            guard let last = try append(change, as: caller, picture, committer) else { continue }
            return try await committer.waitUntilDurable(last)
        }
    }
}

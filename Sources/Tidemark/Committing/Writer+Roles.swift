// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel
import TidemarkRules
import TidemarkViews

extension Writer {
    /// See ``Store/setRoles(_:of:of:in:)``.
    func setRoles(
        _ roles: [Schema.Role],
        of user: UserID,
        in database: DatabaseID
    ) async throws(SyncError) {
        try reader.options.limits.check(Caller(database: database, user: user))
        try await committer.waitForRoom()
        while true {
            let picture = try reader.picture(.appended)
            let schema = try reader.schema(of: database, picture)
            let known = try schema.whole()
            if let role = roles.first(where: { $0.isBuiltIn || !known.knows($0) }) {
                try await committer.waitUntilDurable(schema.lastSequence)
                throw SyncError(
                    .invalidArguments,
                    "The schema has no custom role \(role); add CREATE ROLE \(role) to it."
                )
            }
            let old = try reader.rolesRecord(of: user, in: database, picture)
            if try RoleRecords.roles(in: old) == roles {
                // Also without a record: its deletion may not be durable yet.
                return try await committer.waitUntilDurable(picture.bound)
            }
            let change = try RoleRecords.change(roles, of: user)
            let caller = Caller(database: database)
            guard let last = try append(change, as: caller, picture) else { continue }
            return try await committer.waitUntilDurable(last)
        }
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel
import TidemarkRules
import TidemarkViews

extension Reader {
    /// Returns a caller's permissions as of a picture; `nil` if everything is allowed: outside
    /// public databases, and in stores that do not check schemas.
    func access(of caller: Caller, _ picture: ViewPicture) throws(SyncError) -> PublicAccess? {
        guard options.checksSchema, caller.database.scope == .public else { return nil }
        let schema = try schema(of: caller.database, picture)
        var accessor = Accessor(caller.user)
        var rolesSequence: SequenceNumber = 0
        // Most users have no roles.
        if let user = caller.user,
            let record = try rolesRecord(of: user, in: caller.database, picture),
            !(try schema.whole().roles.isEmpty)
        {
            accessor.roles = try RoleRecords.roles(in: record)
            rolesSequence = record.sequence
        }
        return PublicAccess(
            schema,
            accessor,
            rolesSequence: rolesSequence,
            environment: caller.database.environment
        )
    }
}

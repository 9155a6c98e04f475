// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel
import TidemarkRules
import TidemarkViews

extension Reader {
    /// The record with a user's roles; `nil` if there is none.
    func rolesRecord(
        of user: UserID,
        in database: DatabaseID,
        _ picture: ViewPicture
    ) throws(SyncError) -> StoredRecord? {
        try picture.facts.record(named: user.name, of: .roles, in: database)
    }
}

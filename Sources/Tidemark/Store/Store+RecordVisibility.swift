// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
package import TidemarkModel
import TidemarkRules
import TidemarkViews

extension Store {
    /// Returns the visibility of a record to a user, as the record is now; `database` is the one
    /// that holds the record.
    package func visibility(
        of record: RecordID,
        in database: DatabaseID,
        to user: UserID?
    ) throws(SyncError) -> RecordVisibility {
        try parts.reader.visibility(of: record, in: database, to: user)
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
package import TidemarkModel
import TidemarkRules
import TidemarkViews

extension Store {
    /// Whether a user is shown a record as it is now, or by what; `database` is the one that holds the
    /// record.
    package func visibility(
        of record: RecordID,
        in database: DatabaseID,
        to user: UserID?
    ) throws(SyncError) -> RecordVisibility {
        try parts.reader.visibility(of: record, in: database, to: user)
    }
}

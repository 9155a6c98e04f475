// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkModel
import TidemarkRules
import TidemarkViews

extension Reader {
    /// The schema of a database's container and environment, as a picture shows it.
    ///
    /// O(1) unless a system zone changed since it was read last; else O(schema).
    func schema(
        of database: DatabaseID,
        _ picture: ViewPicture
    ) throws(SyncError) -> StoredSchema {
        let home = database.ofSystemZones
        let asOf = picture.lastSystemSequence
        // Otherwise this picture shows an older state than the one that is remembered.
        let isNewest = picture.bound >= asOf
        if isNewest, let known = schemas.withLock({ $0.schema(of: home, asOf: asOf) }) {
            return known
        }
        let records = try picture.facts.records(of: .schema, in: home)
        let found = StoredSchema(
            try SchemaRecords.schema(
                of: try records.map { (record) throws(SyncError) in try record.readBody() }
            ),
            lastSequence: records.map(\.sequence).max() ?? 0
        )
        if isNewest { schemas.withLock { $0.keep(found, of: home, asOf: asOf) } }
        return found
    }
}

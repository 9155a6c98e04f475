// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel
import TidemarkRules
import TidemarkViews

/// Schemas that were read, so that request after request does not read them again.
///
/// All of them go when a system zone changes, or when there are too many.
struct StoredSchemas: Sendable {
    private static let countLimit = 1_000

    private var schemas: [DatabaseID: StoredSchema] = [:]
    /// The last change of a system zone when the schemas were read.
    private var sequence: SequenceNumber = 0

    func schema(of database: DatabaseID, asOf sequence: SequenceNumber) -> StoredSchema? {
        sequence == self.sequence ? schemas[database] : nil
    }

    mutating func keep(
        _ schema: StoredSchema,
        of database: DatabaseID,
        asOf sequence: SequenceNumber
    ) {
        guard sequence >= self.sequence else { return }
        if sequence > self.sequence || schemas.count >= Self.countLimit { schemas = [:] }
        self.sequence = sequence
        schemas[database] = schema
    }
}

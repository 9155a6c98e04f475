// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkModel

/// A schema, or some record types of one, ready to check records.
///
/// A class, so that a request holds it by one reference.
package final class StoredSchema: Sendable {
    /// The schema.
    package let schema: Schema
    /// The schema prepared for checking records.
    package let checks: RecordChecks

    package init(_ schema: Schema) {
        self.schema = schema
        checks = RecordChecks(schema)
    }
}

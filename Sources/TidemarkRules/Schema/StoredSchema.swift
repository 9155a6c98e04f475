// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkLog
package import TidemarkModel

/// The schema of a container and environment as a store holds it, ready to check records.
///
/// A class, so that a request holds it by one reference.
package final class StoredSchema: Sendable {
    /// The schema.
    package let schema: Schema
    /// The same, made ready.
    package let checks: RecordChecks
    /// Position of the last event that it rests on; zero for a schema that nobody changed.
    package let lastSequence: SequenceNumber

    package init(_ schema: Schema, lastSequence: SequenceNumber) {
        self.schema = schema
        checks = RecordChecks(schema)
        self.lastSequence = lastSequence
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// Whether a record is there or was deleted.
///
/// Raw values are tags in the view index.
package enum RecordState: UInt8, Hashable, Sendable {
    case live = 1
    case tombstone = 2
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// Whether a record is there or was deleted.
///
/// Raw values are tags in the view index.
package enum RecordState: UInt8, Hashable, Sendable {
    case live = 1
    case tombstone = 2

    /// Whether two are the same.
    ///
    /// Written out because it runs once per record in other targets, which call the comparison that the compiler
    /// makes by way of the protocol: three calls instead of one instruction.
    @inlinable @inline(__always)
    package static func == (lhs: RecordState, rhs: RecordState) -> Bool {
        switch (lhs, rhs) {
        case (.live, .live), (.tombstone, .tombstone): true
        case (.live, .tombstone), (.tombstone, .live): false
        }
    }
}

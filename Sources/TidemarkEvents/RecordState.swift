// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The state of a record: live or deleted.
///
/// Raw values are tags in the view index.
@usableFromInline
package enum RecordState: UInt8, Hashable, Sendable {
    case live = 1
    case tombstone = 2

    /// Returns true if two states are equal.
    ///
    /// Written out because it runs once per record in other targets, where the synthesized
    /// comparison is called through the protocol: three calls instead of one instruction.
    @inlinable @inline(__always)
    package static func == (lhs: RecordState, rhs: RecordState) -> Bool {
        switch (lhs, rhs) {
        case (.live, .live), (.tombstone, .tombstone): true
        case (.live, .tombstone), (.tombstone, .live): false
        }
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// What opening found after the last stop, and what it did about it.
package struct RecoveryReport: Hashable, Sendable {
    /// Whether the store is new.
    package var isNew = false
    /// Whether the last writer closed the store; if not, a new incarnation has begun.
    package var wasClean = true
    /// Bytes behind the last sound frame that were discarded: a write cut short before it was
    /// acknowledged.
    package var discardedByteCount: UInt64 = 0
    /// Where they were.
    package var discardedAt: Place?

    /// A place in a file.
    package struct Place: Hashable, Sendable {
        package var path: String
        package var offset: UInt64
    }

    package init() {}
}

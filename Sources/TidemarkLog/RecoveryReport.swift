// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The state that an open found after the last stop, and the recovery that it did.
package struct RecoveryReport: Hashable, Sendable {
    /// True if the store is new.
    package var isNew = false
    /// True if the last writer closed the store; if not, a new incarnation has begun.
    package var wasClean = true
    /// The number of discarded bytes after the last sound frame: an interrupted, unacknowledged
    /// write.
    package var discardedByteCount: UInt64 = 0
    /// The place of the discarded bytes.
    package var discardedAt: Place?

    /// A place in a file.
    package struct Place: Hashable, Sendable {
        package var path: String
        package var offset: UInt64
    }

    package init() {}
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A request to stop a write, which its thread checks between two rows.
///
/// SQLite's own interruption is lost if it comes between two statements, and a thread outside of a
/// task does not see that the task was cancelled.
final class Cancellation: Sendable {
    private let isRequested = Atomic(false)

    func request() { isRequested.store(true, ordering: .relaxed) }

    func check() throws {
        if isRequested.load(ordering: .relaxed) { throw CancellationError() }
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
package import TidemarkLog
package import TidemarkModel
import TidemarkViews

extension Store {
    /// Returns the store at this moment, for reads of the past, with its state after some events.
    ///
    /// Throws if the store no longer has, or never had, the state after one of them.
    package func pastPicture(
        showing points: [SequenceNumber] = []
    ) throws(SyncError) -> PastPicture {
        try PastPicture(parts.reader, showing: points)
    }

    /// Reads up to the whole log, off the threads that run tasks.
    package func reading<Answer: Sendable>(
        _ body: @escaping @Sendable () throws(SyncError) -> Answer
    ) async throws(SyncError) -> Answer {
        try await parts.reader.blockingWork.run(body)
    }
}

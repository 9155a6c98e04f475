// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
package import TidemarkLog
package import TidemarkModel
import TidemarkViews

extension Store {
    /// The store at this moment, for those who ask what came before, and what it was after some events.
    ///
    /// Throws if the store cannot say any more what it was after one of them, or never had it.
    package func pastPicture(
        showing points: [SequenceNumber] = []
    ) throws(SyncError) -> PastPicture {
        try PastPicture(parts.reader, showing: points)
    }

    /// Reads what may be all of the log, off the threads that tasks run on.
    package func reading<Answer: Sendable>(
        _ body: @escaping @Sendable () throws(SyncError) -> Answer
    ) async throws(SyncError) -> Answer {
        try await parts.reader.blockingWork.run(body)
    }
}

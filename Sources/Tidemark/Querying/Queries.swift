// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLock
import TidemarkLog
import TidemarkModel

/// Answers queries, by an index or by looking at each record.
final class Queries: Sendable {
    let reader: Reader
    /// Adds the indexes that queries need to schemas.
    let writer: WriteAccess
    /// The query indexes; `nil` in a store that is open for reading.
    let indexes: StoreQueries?
    /// The last query that was answered without an index.
    let scanned = Lock<ScannedQuery?>(nil)

    init(_ reader: Reader, _ writer: WriteAccess, _ indexes: StoreQueries?) {
        self.reader = reader
        self.writer = writer
        self.indexes = indexes
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLock
import TidemarkLog

/// Reports the hits and misses of the block cache to an observer, from one call to the next.
struct CacheReports: ~Copyable, Sendable {
    private let told = Lock(CacheUse())

    /// Reports the cache lookups since the last report, if there were any.
    func report(_ use: CacheUse, to observer: any StoreObserver) {
        let news = told.withLock { told in
            // Two calls may come here in the other order than they have read the counts.
            let news = CacheUse(
                hitCount: max(use.hitCount, told.hitCount) - told.hitCount,
                missCount: max(use.missCount, told.missCount) - told.missCount
            )
            told.hitCount += news.hitCount
            told.missCount += news.missCount
            return news
        }
        guard news != CacheUse() else { return }
        observer.notes(.askedForBlocks(cached: Int(news.hitCount), decoded: Int(news.missCount)))
    }
}

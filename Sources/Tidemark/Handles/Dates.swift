// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkDatabase
import TidemarkModel

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

// Times of the engine are milliseconds since 1970; apps have dates.

extension JournalEntry {
    /// The time of the event by the store's own clock, to the millisecond.
    public var date: Date { Date(milliseconds: time) }
}

extension CompactionReport {
    /// The time of the commit at the history horizon, to the millisecond; `nil` if all history is
    /// kept.
    public var historyDate: Date? { historyTime.map { Date(milliseconds: $0) } }
}

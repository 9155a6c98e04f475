// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog

/// The records of one zone as of one position, as they were last needed.
///
/// The next page of a delta needs them too.
struct KnownPastRecords: Sendable {
    /// The zone, the position, and whatever else determines the records.
    struct Key: Hashable {
        var zone: ZoneKey
        var bound: SequenceNumber
        /// The horizon that a compaction raises when it drops tombstones.
        var tombstoneHorizon: SequenceNumber
    }

    var key: Key
    /// The last event of each record, ascending.
    var versions: [RecordVersion]
    /// The maximum number of versions to keep, 24 MB of them.
    ///
    /// Longer lists are made again for each page.
    static let countLimit = 1 << 20
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The data that an erasure removed, by place; for a dry run, the data that it would remove.
public struct ErasureReceipt: Hashable, Codable, Sendable {
    /// The files that held erased data and were removed or rewritten.
    public struct Files: Hashable, Codable, Sendable {
        /// The number of files.
        public internal(set) var count = 0
        /// Their bytes.
        public internal(set) var byteCount: UInt64 = 0

        mutating func add(_ byteCount: UInt64) {
            count += 1
            self.byteCount += byteCount
        }
    }

    /// Segments of the log; all of them are rewritten.
    public internal(set) var segments = Files()
    /// Bytes of the segments that took their place; zero in a dry run.
    public internal(set) var newByteCount: UInt64 = 0
    /// Dictionaries in the old segments.
    ///
    /// None is kept, because each is a sample of the old data.
    public internal(set) var dictionaryCount = 0
    /// Events that the log had.
    public internal(set) var eventCount: UInt64 = 0
    /// Events that were removed.
    public internal(set) var removedCount: UInt64 = 0
    /// Events that stay, without the words that named the user or the zone.
    public internal(set) var redactedCount: UInt64 = 0
    /// Zones that were removed.
    public internal(set) var zoneCount = 0
    /// Entries of the journal that were removed.
    public internal(set) var journalCount = 0
    /// Assets that were removed.
    public internal(set) var assets = Files()
    /// Files of zone views, all removed; the next opening makes them from the log.
    public internal(set) var views = Files()
    /// Files of query indexes, all removed; the next query makes them from the log.
    public internal(set) var queries = Files()
    /// Zones that remain but whose change tokens expire, because a deletion could not be reported.
    public internal(set) var expiredZoneCount = 0
    /// Old segments that have another name: a fork has them, or another copy of the folder.
    public internal(set) var sharedSegmentCount = 0
    /// Removed assets that have another name.
    public internal(set) var sharedAssetCount = 0
    /// Events of others that still have the user's name or an address in them: in the fields of their
    /// records.
    public internal(set) var mentionCount: UInt64 = 0
}

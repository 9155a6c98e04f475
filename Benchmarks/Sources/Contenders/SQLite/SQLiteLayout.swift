// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The ways to lay out records in SQLite that were tried.
///
/// `tidemark-bench layouts` compares them.
package struct SQLiteLayout: Sendable, CustomStringConvertible {
    /// The tables.
    package enum Tables: String, CaseIterable, Sendable {
        /// A rowid table, unique (zone, name), index (zone, sequence).
        case rowid
        /// The sequence number is the rowid; unique (zone, name), index (zone).
        case sequenceRowid = "sequence as rowid"
        /// WITHOUT ROWID by (zone, name), index (zone, sequence).
        case clusteredByName = "clustered by name"
        /// WITHOUT ROWID by (zone, sequence), unique (zone, name).
        case clusteredBySequence = "clustered by sequence"
        /// A table for each zone, the sequence number as its rowid; unique (name).
        case tablePerZone = "a table per zone"
    }

    /// How records lie in tables.
    package var tables: Tables
    /// One page of the file.
    package var pageByteCount = 4096
    /// Pages kept in memory.
    package var cacheByteCount = 64 << 20
    /// SQLite's own choice.
    package static let defaultCacheByteCount = 2 << 20
    /// How much of the file may be read through a mapping; 0 for none.
    package var mapByteCount = 0
    /// After how many pages in the WAL a commit moves them into the database.
    package var checkpointPageCount = 1000

    /// A layout with SQLite's defaults but for a cache of 64 MiB.
    package init(_ tables: Tables) {
        self.tables = tables
    }

    /// All of it in one line.
    package var description: String {
        "\(tables.rawValue), page \(pageByteCount), cache \(cacheByteCount >> 20) MiB, "
            + "map \(mapByteCount >> 20) MiB, checkpoint every \(checkpointPageCount) pages"
    }

    /// The fastest of those tried for a work, by `tidemark-bench layouts`.
    static func fastest(for work: Work) -> SQLiteLayout {
        var layout = SQLiteLayout(.tablePerZone)
        switch work {
        case .oneWriter, .manyWriters:
            layout.checkpointPageCount = 10_000
        case .updateBatches:
            layout.tables = .rowid
            layout.checkpointPageCount = 10_000
        case .insertBatches, .firstSync, .firstSyncAfterUpdates, .firstSyncUncached:
            layout.pageByteCount = 16_384
            layout.cacheByteCount = SQLiteLayout.defaultCacheByteCount
        case .smallDelta:
            layout.pageByteCount = 16_384
        }
        return layout
    }

    /// One layout for every work: what a server would have, that does all of them.
    static var rowid: SQLiteLayout {
        var layout = SQLiteLayout(.rowid)
        layout.checkpointPageCount = 10_000
        return layout
    }

    /// The table of a zone.
    func table(ofZone zone: UInt32) -> String {
        tables == .tablePerZone ? "record_\(zone)" : "record"
    }

    /// What creates the table of a zone and its indexes.
    func schema(ofZone zone: UInt32) -> String {
        let table = table(ofZone: zone)
        let columns = "zone INTEGER NOT NULL, name TEXT NOT NULL"
        let value = "value BLOB NOT NULL"
        let unique = "CREATE UNIQUE INDEX IF NOT EXISTS \(table)_name ON \(table)(zone, name);"
        let create = "CREATE TABLE IF NOT EXISTS \(table)"
        switch tables {
        case .rowid:
            return "\(create)(\(columns), sequence INTEGER NOT NULL, \(value)); \(unique)"
                + "CREATE INDEX IF NOT EXISTS record_sequence ON record(zone, sequence);"
        case .sequenceRowid:
            return "\(create)(sequence INTEGER PRIMARY KEY, \(columns), \(value)); \(unique)"
                + "CREATE INDEX IF NOT EXISTS record_zone ON record(zone);"
        case .clusteredByName:
            return "\(create)(\(columns), sequence INTEGER NOT NULL, \(value),"
                + "PRIMARY KEY (zone, name)) WITHOUT ROWID;"
                + "CREATE INDEX IF NOT EXISTS record_sequence ON record(zone, sequence);"
        case .clusteredBySequence:
            return "\(create)(\(columns), sequence INTEGER NOT NULL, \(value),"
                + "PRIMARY KEY (zone, sequence)) WITHOUT ROWID; \(unique)"
        case .tablePerZone:
            return "\(create)(sequence INTEGER PRIMARY KEY, name TEXT NOT NULL, \(value));"
                + "CREATE UNIQUE INDEX IF NOT EXISTS \(table)_name ON \(table)(name);"
        }
    }
}

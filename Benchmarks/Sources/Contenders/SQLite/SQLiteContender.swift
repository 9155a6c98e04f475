// Tidemark
// SPDX-License-Identifier: Apache-2.0

import CSQLite
import Workload

/// SQLite: WAL, synchronous=FULL, one connection, prepared statements.
///
/// Unchecked: a connection without a mutex is used by one task at a time, as ``Contender`` demands.
package final class SQLiteContender<Choice: SQLiteChoice>: Contender, @unchecked Sendable {
    package static var name: String { Choice.name }

    private let database: SQLiteDatabase
    private let layout: SQLiteLayout
    private let begin: SQLiteStatement
    private let commit: SQLiteStatement
    /// By table: one, or one for each zone.
    private var tables: [SQLiteTable] = []
    private var lastSequence: Int64 = 0

    package static func conditions(for work: Work) -> String {
        "SQLite \(String(cString: sqlite3_libversion())), WAL, synchronous=FULL, "
            + Choice.layout(for: work).description
    }

    package static func open(
        _ folder: String,
        for work: Work,
        durability: Durability
    ) async throws -> SQLiteContender {
        try SQLiteContender(folder, Choice.layout(for: work), durability)
    }

    private init(_ folder: String, _ layout: SQLiteLayout, _ durability: Durability) throws {
        self.layout = layout
        database = try SQLiteDatabase(folder + "/records.sqlite")
        try database.run(
            """
            PRAGMA page_size=\(layout.pageByteCount);
            PRAGMA journal_mode=WAL;
            PRAGMA synchronous=\(durability == .full ? "FULL" : "OFF");
            PRAGMA cache_size=-\(layout.cacheByteCount >> 10);
            PRAGMA mmap_size=\(layout.mapByteCount);
            PRAGMA wal_autocheckpoint=\(layout.checkpointPageCount);
            """
        )
        begin = try database.prepare("BEGIN IMMEDIATE")
        commit = try database.prepare("COMMIT")
        if layout.tables != .tablePerZone {
            try database.run(layout.schema(ofZone: 0))
            tables = [try SQLiteTable(database, layout, zone: 0)]
            lastSequence = try highestSequence(in: "record", hasZones: true)
        } else {
            let zoneCount = try database.number(
                "SELECT count(*) FROM sqlite_schema WHERE type='table' AND name LIKE 'record%'"
            )
            for zone in 0..<UInt32(zoneCount) {
                tables.append(try SQLiteTable(database, layout, zone: zone))
                lastSequence = max(
                    lastSequence,
                    try highestSequence(in: "record_\(zone)", hasZones: false)
                )
            }
        }
    }

    /// Reads the end of each zone's index, never the whole table.
    private func highestSequence(in table: String, hasZones: Bool) throws -> Int64 {
        guard hasZones, layout.tables != .sequenceRowid else {
            return try database.number("SELECT max(sequence) FROM \(table)")
        }
        return try database.number(
            """
            WITH RECURSIVE zones(zone) AS (
                SELECT min(zone) FROM \(table)
                UNION ALL
                SELECT (SELECT min(zone) FROM \(table) WHERE zone > zones.zone) FROM zones
                WHERE zones.zone IS NOT NULL)
            SELECT max((SELECT max(sequence) FROM \(table) AS r WHERE r.zone = zones.zone))
            FROM zones WHERE zone IS NOT NULL
            """
        )
    }

    package func prepare(_ batch: Batch, _ pages: PageSource) -> FlatBatch {
        FlatBatch(batch, pages)
    }

    /// One connection takes one transaction at a time: without a turn to wait for, this is the
    /// most that any number of writers can get out of it.
    package func save(writers: [[FlatBatch]]) async throws {
        for round in 0..<(writers.map(\.count).max() ?? 0) {
            for writer in writers where round < writer.count {
                try save(writer[round])
            }
        }
    }

    package func save(_ batch: FlatBatch) throws {
        // A single statement is its own transaction.
        let isTransaction = batch.entries.count > 1
        if isTransaction { _ = try begin.step() }
        try batch.bytes.withUnsafeBytes { bytes in
            for entry in batch.entries {
                lastSequence += 1
                try table(ofZone: entry.zone).save(
                    zone: entry.zone,
                    name: UnsafeRawBufferPointer(rebasing: bytes[entry.name]),
                    sequence: lastSequence,
                    value: UnsafeRawBufferPointer(rebasing: bytes[entry.value]),
                    isInsert: batch.isInsert
                )
            }
        }
        if isTransaction { _ = try commit.step() }
    }

    private func table(ofZone zone: UInt32) throws -> SQLiteTable {
        guard layout.tables == .tablePerZone else { return tables[0] }
        while tables.count <= Int(zone) {
            try database.run(layout.schema(ofZone: UInt32(tables.count)))
            tables.append(try SQLiteTable(database, layout, zone: UInt32(tables.count)))
        }
        return tables[Int(zone)]
    }

    /// Only the last version of each record is ever kept, so only that is written, and in the order
    /// in which VACUUM would leave it: this is the best state that the history can end in.
    package func fill(_ history: History, _ pages: PageSource) async throws {
        var live: [(change: Change, sequence: UInt64)] = []
        live.reserveCapacity(history.recordCount)
        history.forEachLive { live.append(($0, $1)) }
        if layout.tables == .rowid {
            live.sort { ($0.change.number, $0.change.zone) < ($1.change.number, $1.change.zone) }
        }
        if layout.tables == .clusteredBySequence {
            live.sort { ($0.change.zone, $0.sequence) < ($1.change.zone, $1.sequence) }
        }
        for start in stride(from: 0, to: live.count, by: 10_000) {
            let part = live[start..<min(start + 10_000, live.count)]
            let batch = FlatBatch(Batch(part.map(\.change), isInsert: true), pages)
            _ = try begin.step()
            try batch.bytes.withUnsafeBytes { bytes in
                for (entry, record) in zip(batch.entries, part) {
                    try table(ofZone: entry.zone).save(
                        zone: entry.zone,
                        name: UnsafeRawBufferPointer(rebasing: bytes[entry.name]),
                        sequence: Int64(record.sequence),
                        value: UnsafeRawBufferPointer(rebasing: bytes[entry.value]),
                        isInsert: true
                    )
                }
            }
            _ = try commit.step()
        }
        lastSequence = Int64(history.eventCount)
    }

    package func compact() async throws {
        try database.run("VACUUM; PRAGMA wal_checkpoint(TRUNCATE);")
    }

    package func position(inZone zone: Int) -> String {
        String(lastSequence)
    }

    package func readAll(zone: Int, into sink: Sink) async throws {
        try table(ofZone: UInt32(zone)).readChanges(zone: UInt32(zone), since: 0, into: sink)
    }

    package func readChanges(zone: Int, since position: String, into sink: Sink) async throws {
        try table(ofZone: UInt32(zone)).readChanges(
            zone: UInt32(zone),
            since: Int64(position) ?? 0,
            into: sink
        )
    }

    package func page(of change: Change) async throws -> Page? {
        try table(ofZone: change.zone).value(zone: change.zone, name: change.name)
            .flatMap(Page.init(value:))
    }

    package static func replay(_ folder: String) -> Double? { nil }

    package func close() { database.close() }
}

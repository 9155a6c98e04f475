// Tidemark
// SPDX-License-Identifier: Apache-2.0

import CSQLite

/// The prepared statements of one table.
final class SQLiteTable {
    private let insert: SQLiteStatement
    private let update: SQLiteStatement
    private let changes: SQLiteStatement
    private let find: SQLiteStatement
    private let database: SQLiteDatabase
    private let hasZones: Bool

    init(_ database: SQLiteDatabase, _ layout: SQLiteLayout, zone: UInt32) throws {
        self.database = database
        let table = layout.table(ofZone: zone)
        hasZones = layout.tables != .tablePerZone
        // Parameters are the same with and without zones: 1 sequence, 2 value, 3 name, 4 zone.
        let ofZone = hasZones ? "zone = ?4 AND " : ""
        insert = try database.prepare(
            hasZones
                ? "INSERT INTO \(table)(zone, name, sequence, value) VALUES (?4, ?3, ?1, ?2)"
                : "INSERT INTO \(table)(name, sequence, value) VALUES (?3, ?1, ?2)"
        )
        update = try database.prepare(
            "UPDATE \(table) SET sequence = ?1, value = ?2 WHERE \(ofZone)name = ?3"
        )
        changes = try database.prepare(
            "SELECT name, sequence, value FROM \(table) WHERE \(ofZone)sequence > ?1 "
                + "ORDER BY sequence"
        )
        find = try database.prepare("SELECT value FROM \(table) WHERE \(ofZone)name = ?3")
    }

    @inline(__always)
    func save(
        zone: UInt32,
        name: UnsafeRawBufferPointer,
        sequence: Int64,
        value: UnsafeRawBufferPointer,
        isInsert: Bool
    ) throws {
        let statement = isInsert ? insert : update
        statement.bind(1, sequence)
        statement.bind(2, blob: value)
        statement.bind(3, text: name)
        if hasZones { statement.bind(4, Int64(zone)) }
        _ = try statement.step()
        guard sqlite3_changes(database.handle) == 1 else {
            throw SQLiteError(description: "a save changed no row, or more than one")
        }
    }

    func readChanges(zone: UInt32, since sequence: Int64, into sink: Sink) throws {
        changes.bind(1, sequence)
        if hasZones { changes.bind(4, Int64(zone)) }
        while try changes.step() {
            sink.take(
                name: changes.text(0),
                sequence: UInt64(changes.int(1)),
                value: changes.bytes(2)
            )
        }
    }

    func value(zone: UInt32, name: String) throws -> [UInt8]? {
        if hasZones { find.bind(4, Int64(zone)) }
        return try Array(name.utf8).withUnsafeBytes { name in
            find.bind(3, text: name)
            guard try find.step() else { return nil }
            defer { find.reset() }
            return Array(find.bytes(0))
        }
    }
}

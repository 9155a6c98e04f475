// Tidemark
// SPDX-License-Identifier: Apache-2.0

import CLMDB
import TidemarkEvents

/// Writes the changes of a table whose values are words, group by group.
///
/// A group has all entries of the table after the group before it, up to its own key. An entry after
/// all groups belongs to the last one.
struct LMDBGroupWriter: ~Copyable {
    private let cursor: OpaquePointer
    private let table: ViewTable
    private let path: String
    /// Room for a key, then for a group.
    private let room: UnsafeMutableRawBufferPointer
    /// The entries that replace the groups taken, ascending by key.
    private var entries: [ViewBatch.Change] = []
    /// The index in `entries` of the last one that a change has put there.
    private var lastPut: Int?

    /// A group of the table.
    private struct Place {
        /// The key of the group; `nil` for a place after all groups.
        var key: ViewKey?
        /// True if no group follows.
        var isLast: Bool
    }

    /// The number of changes after all groups that are taken at once, since their entries are in
    /// memory twice.
    private static let changesAtOnce = 4096

    /// Opens a cursor on a table.
    init(
        _ transaction: OpaquePointer,
        _ handle: MDB_dbi,
        _ table: ViewTable,
        _ path: String
    ) throws(ViewIndexError) {
        var opened: OpaquePointer?
        let code = mdb_cursor_open(transaction, handle, &opened)
        guard code == 0, let cursor = opened else {
            throw .lmdb(code, "writing table \(table)", path)
        }
        self.cursor = cursor
        self.table = table
        self.path = path
        entries.reserveCapacity(1024)
        room = .allocate(byteCount: 32 + EntryGroup.maximumByteCount + 8, alignment: 8)
    }

    deinit {
        room.deallocate()
        mdb_cursor_close(cursor)
    }

    /// Writes changes that ascend by key, one for each key.
    mutating func write(_ changes: [ViewBatch.Change]) throws(ViewIndexError) {
        var next = 0
        while next < changes.count {
            var place = try take(changes, &next, at: changes[next].key)
            // Entries that are too few join the group after them.
            while !place.isLast, let key = place.key, entries.count < EntryGroup.fewestCount {
                try remove(key)
                place = try take(changes, &next, at: key)
            }
            try put(at: place)
            entries.removeAll(keepingCapacity: true)
            lastPut = nil
        }
    }

    /// Adds the entries of the first group that is not before a key, merged with the changes that
    /// belong there.
    private mutating func take(
        _ changes: [ViewBatch.Change],
        _ next: inout Int,
        at key: ViewKey
    ) throws(ViewIndexError) -> Place {
        var place = Place(key: nil, isLast: false)
        var stored = store(key)
        var value = MDB_val()
        var code = mdb_cursor_get(cursor, &stored, &value, MDB_SET_RANGE)
        if code == MDB_NOTFOUND {
            place.isLast = true
            // What was taken before was the last group, if anything was.
            code = entries.isEmpty ? mdb_cursor_get(cursor, &stored, &value, MDB_LAST) : code
        }
        if code == 0 {
            guard let key = ViewEntryFormat.decodeKey(stored.bytes),
                let group = EntryGroup(value.bytes, under: key, in: table)
            else { throw .damaged("\(path): a group of table \(table) is not what was written") }
            place.key = key
            merge(group, changes, &next)
        } else if code != MDB_NOTFOUND {
            throw .lmdb(code, "writing table \(table)", path)
        }
        if place.isLast {
            let end = min(changes.count, next + Self.changesAtOnce)
            while next < end { take(changes[next], &next) }
        }
        return place
    }

    /// Adds the entries of a group, each as the changes leave it.
    private mutating func merge(
        _ group: EntryGroup,
        _ changes: [ViewBatch.Change],
        _ next: inout Int
    ) {
        var index = 0
        while index < group.count {
            guard next < changes.count else { return keep(group, index..<group.count) }
            let end = group.firstIndex(notBefore: changes[next].key, from: index)
            keep(group, index..<end)
            guard end < group.count else { return }
            index = end + (group.key(at: end) == changes[next].key ? 1 : 0)
            take(changes[next], &next)
        }
    }

    /// Adds entries of a group as they are.
    private mutating func keep(_ group: EntryGroup, _ indexes: Range<Int>) {
        entries.append(addingCapacity: indexes.count) { entries in
            for index in indexes {
                entries.append(
                    ViewBatch.Change(
                        key: group.key(at: index),
                        word: group.word(at: index),
                        tag: group.tag(at: index),
                        form: .word
                    )
                )
            }
        }
    }

    @inline(__always)
    private mutating func take(_ change: ViewBatch.Change, _ next: inout Int) {
        next += 1
        if change.form == .remove { return }
        lastPut = entries.count
        entries.append(change)
    }

    /// Writes the entries in place of the group at a place.
    private mutating func put(at place: Place) throws(ViewIndexError) {
        // The last group keeps its key if nothing was put after it.
        let keepsKey = place.key != nil && place.key == entries.last?.key
        if let key = place.key, !keepsKey { try remove(key) }
        let flags = place.isLast && !keepsKey ? UInt32(MDB_APPEND) : 0
        let (cursor, table, path, room) = (cursor, table, path, room)
        try EntryGroup.cut(entries, isFilled: isAtEnd) { shape, group throws(ViewIndexError) in
            guard let last = group.last, let start = room.baseAddress else { return }
            var key = MDB_val(mv_size: ViewEntryFormat.encode(last.key, at: start), mv_data: start)
            var value = MDB_val(
                mv_size: shape.write(group, in: table, at: start + 32),
                mv_data: start + 32
            )
            let code = mdb_cursor_put(cursor, &key, &value, flags)
            guard code == 0 else { throw .lmdb(code, "writing table \(table)", path) }
        }
    }

    /// True if no entry with the same first word follows the last one that was put: more will
    /// usually be put after it.
    private var isAtEnd: Bool {
        guard let lastPut, lastPut + 1 < entries.count else { return lastPut != nil }
        return entries[lastPut].key.high != entries[lastPut + 1].key.high
    }

    private func remove(_ key: ViewKey) throws(ViewIndexError) {
        var stored = store(key)
        var value = MDB_val()
        var code = mdb_cursor_get(cursor, &stored, &value, MDB_SET)
        if code == 0 { code = mdb_cursor_del(cursor, 0) }
        guard code == 0 else { throw .lmdb(code, "writing table \(table)", path) }
    }

    /// Returns a key in LMDB's form, in the room for keys.
    private func store(_ key: ViewKey) -> MDB_val {
        guard let start = room.baseAddress else { return MDB_val() }
        return MDB_val(mv_size: ViewEntryFormat.encode(key, at: start), mv_data: start)
    }
}

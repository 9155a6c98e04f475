// Tidemark
// SPDX-License-Identifier: Apache-2.0

import CLMDB
import TidemarkEvents

/// Writes the changes of a table whose values are words, group by group.
///
/// A group has all entries of the table after the group before it, up to its own key. A new entry
/// that lies between two groups belongs to the second, unless it is the last one with its first
/// word: then it belongs to the group of those. An entry after all groups belongs to the last one.
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

    /// A group that was taken.
    private struct Place {
        /// The key of the group that the entries replace; `nil` if none is stored.
        var key: ViewKey?
        /// True if no group is after the changes taken.
        var isLast: Bool
    }

    /// The number of changes after all groups that are taken at once: a new index has only those,
    /// and their entries are in memory twice.
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

    /// Adds the entries of the group that a key belongs to, merged with the changes that do.
    private mutating func take(
        _ changes: [ViewBatch.Change],
        _ next: inout Int,
        at key: ViewKey
    ) throws(ViewIndexError) -> Place {
        var stored = store(key)
        var value = MDB_val()
        var code = mdb_cursor_get(cursor, &stored, &value, MDB_SET_RANGE)
        if code == MDB_NOTFOUND {
            // What was taken before was the last group, if anything was.
            if entries.isEmpty { code = mdb_cursor_get(cursor, &stored, &value, MDB_LAST) }
            let group = try self.group(code, stored, value)
            if let group { merge(group, changes, &next) }
            let end = min(changes.count, next + Self.changesAtOnce)
            while next < end { take(changes[next], &next) }
            return Place(key: group?.lastKey, isLast: true)
        }
        guard let group = try self.group(code, stored, value) else { return Place(isLast: true) }
        let first = group.key(at: 0)
        if entries.isEmpty, key.high != first.high, key < first,
            let before = try groupBefore(key)
        {
            merge(before, changes, &next)
            while next < changes.count, changes[next].key < first,
                changes[next].key.high == key.high
            {
                take(changes[next], &next)
            }
            return Place(key: before.lastKey, isLast: false)
        }
        merge(group, changes, &next)
        return Place(key: group.lastKey, isLast: false)
    }

    /// Returns the group before the cursor's if it ends with a key's first word.
    private func groupBefore(_ key: ViewKey) throws(ViewIndexError) -> EntryGroup? {
        var stored = MDB_val()
        var value = MDB_val()
        let code = mdb_cursor_get(cursor, &stored, &value, MDB_PREV)
        let group = try self.group(code, stored, value)
        return group?.lastKey.high == key.high ? group : nil
    }

    /// Returns the group that LMDB has found; `nil` if there is none.
    private func group(
        _ code: Int32,
        _ stored: MDB_val,
        _ value: MDB_val
    ) throws(ViewIndexError) -> EntryGroup? {
        if code == MDB_NOTFOUND { return nil }
        guard code == 0 else { throw .lmdb(code, "writing table \(table)", path) }
        guard let key = ViewEntryFormat.decodeKey(stored.bytes),
            let group = EntryGroup(value.bytes, under: key, in: table)
        else { throw .damaged("\(path): a group of table \(table) is not what was written") }
        return group
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
        // A group keeps its key if its last entry stays.
        let keepsKey = place.key != nil && place.key == entries.last?.key
        if let key = place.key, !keepsKey { try remove(key) }
        let flags = place.isLast && !keepsKey ? UInt32(MDB_APPEND) : 0
        // Where keys grow, and at the end of the table, later entries come after the last one that
        // was put, so the groups up to it need no room.
        guard let lastPut, table.hasGrowingKeys || place.isLast, !EntryGroup.fit(entries) else {
            return try put(entries, isFilled: false, flags)
        }
        try put(Array(entries[...lastPut]), isFilled: true, flags)
        try put(Array(entries[(lastPut + 1)...]), isFilled: false, flags)
    }

    private func put(
        _ entries: [ViewBatch.Change],
        isFilled: Bool,
        _ flags: UInt32
    ) throws(ViewIndexError) {
        try EntryGroup.cut(entries, isFilled: isFilled) { shape, group throws(ViewIndexError) in
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

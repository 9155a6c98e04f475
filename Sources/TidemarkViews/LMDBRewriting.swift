// Tidemark
// SPDX-License-Identifier: Apache-2.0

import CLMDB

/// Rewriting an environment's entries in key order.
///
/// Records are added and removed all over the tables, so that groups and pages are half empty or
/// less, and LMDB's own compact copy keeps them as they are.
extension LMDBEnvironment {
    /// The number of entries per write transaction, whose pages are held in memory.
    private static let entriesAtOnce = 100_000
    /// The minimum saving that is worth a rewrite, in bytes.
    private static let worthwhileByteCount = 1 << 18

    /// Returns true if the file is more than half as long again as its entries need.
    ///
    /// O(groups): reads their lengths.
    package func isSparse() throws(ViewIndexError) -> Bool {
        let transaction = try beginReading()
        defer { endReading(transaction) }
        var needed = 0
        for table in ViewTable.allCases {
            var opened: OpaquePointer?
            var code = mdb_cursor_open(transaction.handle, handle(of: table), &opened)
            guard code == 0, let cursor = opened else { throw .lmdb(code, "reading it", path) }
            defer { mdb_cursor_close(cursor) }
            var key = MDB_val()
            var value = MDB_val()
            while true {
                code = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)
                guard code == 0 else { break }
                needed += EntryGroup.entriesByteCount(value.bytes, in: table)
            }
            guard code == MDB_NOTFOUND else { throw .lmdb(code, "reading it", path) }
        }
        // An eighth for keys, headers and LMDB's own bytes. The result only decides whether a
        // rewrite is worthwhile.
        needed += needed / 8
        return try files.dataByteCount() > needed + needed / 2 + Self.worthwhileByteCount
    }

    /// Writes all entries of the last commit to an empty environment, and returns that commit's
    /// checkpoint.
    func writeInOrder(into target: LMDBEnvironment) throws(ViewIndexError) -> ViewCheckpoint? {
        let reading = try beginReading()
        let state: ViewState
        do throws(ViewIndexError) {
            state = try readState(reading)
        } catch {
            endReading(reading)
            throw error
        }
        let snapshot = LMDBViewSnapshot(self, reading, state.checkpoint)
        for table in ViewTable.allCases {
            var batch = ViewBatch()
            var count = 0
            try snapshot.visit(table) { key, value throws(ViewIndexError) in
                batch.put(value, in: table, for: key)
                count += 1
                guard count == Self.entriesAtOnce else { return }
                try target.write(batch)
                batch = ViewBatch()
                count = 0
            }
            try target.write(batch)
        }
        // The state is not copied, since it names its own transaction. The caller writes it last.
        return state.checkpoint
    }
}

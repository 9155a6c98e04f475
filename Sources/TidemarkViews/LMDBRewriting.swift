// Tidemark
// SPDX-License-Identifier: Apache-2.0

import CLMDB

/// Rewriting an environment's entries in key order.
///
/// Records are added and removed all over the tables, so that pages are half empty or less, and
/// LMDB's own compact copy keeps pages as they are.
extension LMDBEnvironment {
    /// The number of entries per write transaction, whose pages are held in memory: about 16 MiB.
    private static let entriesAtOnce = 500_000
    /// The size of an entry on a full page: usually two words, a value of one word, and LMDB's ten
    /// bytes.
    private static let entryByteCount = 32
    /// The minimum saving that is worth a rewrite, in bytes.
    private static let worthwhileByteCount = 1 << 18

    /// Returns true if the file is more than twice as long as its entries need.
    package func isSparse() throws(ViewIndexError) -> Bool {
        let transaction = try beginReading()
        defer { endReading(transaction) }
        var entryCount = 0
        for table in ViewTable.allCases {
            var figures = MDB_stat()
            let code = mdb_stat(transaction.handle, handle(of: table), &figures)
            guard code == 0 else { throw .lmdb(code, "counting its entries", path) }
            entryCount += figures.ms_entries
        }
        // An estimate: keys and values vary in length, so the result only decides whether a rewrite
        // is worthwhile.
        let needed = entryCount * Self.entryByteCount
        return try files.dataByteCount() > 2 * needed + Self.worthwhileByteCount
    }

    /// Writes all entries of the last commit to an empty environment, and returns that commit's
    /// checkpoint.
    func writeInOrder(into target: LMDBEnvironment) throws(ViewIndexError) -> ViewCheckpoint? {
        let reading = try beginReading()
        defer { endReading(reading) }
        let state = try readState(reading)
        for table in ViewTable.allCases {
            var opened: OpaquePointer?
            let code = mdb_cursor_open(reading.handle, handle(of: table), &opened)
            guard code == 0, let cursor = opened else { throw .lmdb(code, "reading it", path) }
            defer { mdb_cursor_close(cursor) }
            var isMore = true
            while isMore { isMore = try write(entriesAt: cursor, to: table, of: target) }
        }
        // The state is not copied, since it names its own transaction. The caller writes it last.
        return state.checkpoint
    }

    /// Writes the next entries at a cursor in one transaction; returns true if there may be more.
    private func write(
        entriesAt cursor: OpaquePointer,
        to table: ViewTable,
        of target: LMDBEnvironment
    ) throws(ViewIndexError) -> Bool {
        var begun: OpaquePointer?
        var code = mdb_txn_begin(target.handle, nil, 0, &begun)
        guard code == 0, let writing = begun else {
            throw .lmdb(code, "writing it anew", target.path)
        }
        let place = target.handle(of: table)
        var key = MDB_val()
        var value = MDB_val()
        for _ in 0..<Self.entriesAtOnce {
            // The first call of a new cursor returns the first entry.
            code = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)
            guard code == 0 else { break }
            // Both files compare keys as bytes, so the cursor returns them in the order that
            // `MDB_APPEND` requires. The value's check covers table and key but no place in the
            // file, so it stays valid.
            code = mdb_put(writing, place, &key, &value, UInt32(MDB_APPEND))
            guard code == 0 else {
                mdb_txn_abort(writing)
                throw .lmdb(code, "writing it anew", target.path)
            }
        }
        let isMore = code == 0
        guard isMore || code == MDB_NOTFOUND else {
            mdb_txn_abort(writing)
            throw .lmdb(code, "reading it", path)
        }
        code = mdb_txn_commit(writing)
        guard code == 0 else { throw .lmdb(code, "writing it anew", target.path) }
        return isMore
    }
}

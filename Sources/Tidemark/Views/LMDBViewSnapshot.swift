// Tidemark
// SPDX-License-Identifier: Apache-2.0

import CLMDB
import TidemarkLog

/// A view index at one checkpoint: one of LMDB's read transactions, given back when dropped.
final class LMDBViewSnapshot: ViewSnapshot {
    let checkpoint: ViewCheckpoint?
    private let environment: LMDBEnvironment
    /// One thread at a time may use a transaction.
    ///
    /// What is done under the lock reads mapped memory and calls nobody.
    private let transaction: Lock<LMDBReadTransaction>

    /// How many entries of a scan are read before they are visited.
    private static let runEntryCount = 256

    init(
        _ environment: LMDBEnvironment,
        _ transaction: LMDBReadTransaction,
        _ checkpoint: ViewCheckpoint?
    ) {
        self.environment = environment
        self.transaction = Lock(transaction)
        self.checkpoint = checkpoint
    }

    deinit {
        environment.endReading(transaction.withLock { $0 })
    }

    func value(in table: ViewTable, for key: ViewKey) throws(ViewIndexError) -> ViewValue? {
        try transaction.withLock { transaction throws(ViewIndexError) in
            var bytes: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
            return try withUnsafeMutableBytes(of: &bytes) { bytes throws(ViewIndexError) in
                guard let start = bytes.baseAddress else { return nil }
                var stored = MDB_val(
                    mv_size: ViewEntryFormat.encode(key, at: start),
                    mv_data: start
                )
                var found = MDB_val()
                let code = mdb_get(
                    transaction.handle,
                    environment.handle(of: table),
                    &stored,
                    &found
                )
                if code == MDB_NOTFOUND { return nil }
                guard code == 0 else {
                    throw .lmdb(code, "looking up a key", environment.path)
                }
                return try environment.decode(found, of: key, in: table)
            }
        }
    }

    func scan(
        _ table: ViewTable,
        from first: ViewKey,
        through last: ViewKey,
        _ visit: (ViewKey, ViewValue) -> Bool
    ) throws(ViewIndexError) {
        guard first <= last else { return }
        let cursor = try openCursor(table)
        defer { mdb_cursor_close(cursor) }
        // Entries are read in runs and visited without the lock, so that a visitor may ask this
        // snapshot something. The first run is short: many scans want a few entries.
        var run: [(key: ViewKey, value: ViewValue)] = []
        var wanted = 16
        var next: ViewKey? = first
        while true {
            run.removeAll(keepingCapacity: true)
            try read(&run, wanted, table, cursor, from: next)
            for (key, value) in run {
                guard key <= last, visit(key, value) else { return }
            }
            if run.count < wanted { return }
            wanted = Self.runEntryCount
            next = nil
        }
    }

    private func openCursor(_ table: ViewTable) throws(ViewIndexError) -> OpaquePointer {
        var cursor: OpaquePointer?
        let code = transaction.withLock { transaction in
            mdb_cursor_open(transaction.handle, environment.handle(of: table), &cursor)
        }
        guard code == 0, let cursor else {
            throw .lmdb(code, "starting a scan", environment.path)
        }
        return cursor
    }

    /// Reads up to `count` entries, from a key or from where the cursor is.
    private func read(
        _ run: inout [(key: ViewKey, value: ViewValue)],
        _ count: Int,
        _ table: ViewTable,
        _ cursor: OpaquePointer,
        from first: ViewKey?
    ) throws(ViewIndexError) {
        try transaction.withLock { _ throws(ViewIndexError) in
            var key = MDB_val()
            var value = MDB_val()
            var code: Int32 = 0
            if let first {
                code = withUnsafeTemporaryAllocation(byteCount: 32, alignment: 8) { bytes in
                    guard let start = bytes.baseAddress else { return MDB_INVALID }
                    key = MDB_val(mv_size: ViewEntryFormat.encode(first, at: start), mv_data: start)
                    return mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE)
                }
            } else {
                code = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)
            }
            while code == 0 {
                guard let decoded = ViewEntryFormat.decodeKey(key.bytes) else {
                    throw .damaged("\(environment.path): a key in table \(table) is not one")
                }
                run.append((decoded, try environment.decode(value, of: decoded, in: table)))
                if run.count == count { return }
                code = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)
            }
            guard code == MDB_NOTFOUND else {
                throw .lmdb(code, "scanning", environment.path)
            }
        }
    }
}

extension LMDBEnvironment {
    /// Reads a stored value, whose check must fit.
    fileprivate func decode(
        _ stored: MDB_val,
        of key: ViewKey,
        in table: ViewTable
    ) throws(ViewIndexError) -> ViewValue {
        guard let value = ViewEntryFormat.decodeValue(stored.bytes, of: key, in: table) else {
            throw .damaged(
                "\(path): the check of the entry (\(key.high), \(key.low)) in table \(table) "
                    + "does not fit"
            )
        }
        return value
    }
}

extension MDB_val {
    /// The bytes it points at: LMDB's, valid until the transaction ends.
    var bytes: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: mv_data, count: mv_size)
    }
}

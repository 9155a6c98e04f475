// Tidemark
// SPDX-License-Identifier: Apache-2.0

import CLMDB
import TidemarkEvents
package import TidemarkLog

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// Writing one checkpoint as one transaction.
extension LMDBEnvironment {
    /// Writes a batch and a checkpoint to the index durably, or leaves the index unchanged.
    @discardableResult
    package func write(
        _ batch: consuming ViewBatch,
        store: StoreID,
        checkpoint: ViewCheckpoint?
    ) throws(ViewIndexError) -> ViewState {
        // The slot of a killed reader would keep its pages forever.
        mdb_reader_check(handle, nil)
        return try commit("a checkpoint") { transaction throws(ViewIndexError) in
            try write(&batch, in: transaction)
            let state = ViewState(
                transaction: UInt64(mdb_txn_id(transaction)),
                store: store,
                checkpoint: checkpoint
            )
            // In the same transaction as the entries, so that the index is never at another
            // position than its state says.
            let code = put(state, in: transaction)
            guard code == 0 else { throw .lmdb(code, "writing its state", path) }
            return state
        }
    }

    /// Writes a batch to an index without a state, which counts as unfinished until it has one.
    func write(_ batch: consuming ViewBatch) throws(ViewIndexError) {
        try commit("its entries") { transaction throws(ViewIndexError) in
            try write(&batch, in: transaction)
        }
    }

    /// Calls a closure with a write transaction, and commits it if the closure does not throw.
    private func commit<Result>(
        _ what: String,
        _ body: (OpaquePointer) throws(ViewIndexError) -> Result
    ) throws(ViewIndexError) -> Result {
        var begun: OpaquePointer?
        var code = mdb_txn_begin(handle, nil, 0, &begun)
        guard code == 0, let transaction = begun else {
            throw .lmdb(code, "starting to write \(what)", path)
        }
        let result: Result
        do throws(ViewIndexError) {
            result = try body(transaction)
        } catch {
            mdb_txn_abort(transaction)
            throw error
        }
        // LMDB frees the transaction even if its commit fails, so nothing is aborted after this.
        code = mdb_txn_commit(transaction)
        // An I/O error of LMDB is usually a short write on a full disk.
        if code == EIO, files.isDiskFull { code = ENOSPC }
        guard code == 0 else { throw .lmdb(code, "committing \(what)", path) }
        return result
    }

    /// Writes the changes of a batch, table by table.
    private func write(
        _ batch: inout ViewBatch,
        in transaction: OpaquePointer
    ) throws(ViewIndexError) {
        for table in ViewTable.allCases {
            let changes = batch.takeSorted(table)
            if changes.isEmpty { continue }
            if table.hasWords {
                var writer = try LMDBGroupWriter(transaction, handle(of: table), table, path)
                try writer.write(changes)
            } else {
                let code = write(changes, of: batch, to: table, in: transaction)
                guard code == 0 else { throw .lmdb(code, "writing table \(table)", path) }
            }
        }
    }

    /// Writes the sorted changes of a table whose values are bytes.
    private func write(
        _ changes: [ViewBatch.Change],
        of batch: borrowing ViewBatch,
        to table: ViewTable,
        in transaction: OpaquePointer
    ) -> Int32 {
        var opened: OpaquePointer?
        var code = mdb_cursor_open(transaction, handle(of: table), &opened)
        guard code == 0, let cursor = opened else { return code }
        defer { mdb_cursor_close(cursor) }
        let room = ViewEntryFormat.maximumKeyByteCount + 8 + ViewEntryFormat.maximumValueByteCount
        return withUnsafeTemporaryAllocation(byteCount: room + 8, alignment: 8) { buffer in
            guard let keyStart = buffer.baseAddress else { return MDB_PANIC }
            // An encoded key takes up to 26 bytes while it is written, because its words are stored
            // eight bytes at a time. 32 is the next multiple of eight.
            let valueStart = keyStart + 32
            for change in changes {
                var key = MDB_val(
                    mv_size: ViewEntryFormat.encode(change.key, at: keyStart),
                    mv_data: keyStart
                )
                var value = MDB_val(mv_size: 0, mv_data: valueStart)
                if change.form == .remove {
                    code = mdb_cursor_get(cursor, &key, &value, MDB_SET)
                    if code == 0 { code = mdb_cursor_del(cursor, 0) }
                    if code == MDB_NOTFOUND { code = 0 }
                } else {
                    value.mv_size = ViewEntryFormat.encode(
                        batch.bytes(of: change),
                        of: change.key,
                        in: table,
                        at: valueStart
                    )
                    code = mdb_cursor_put(cursor, &key, &value, 0)
                }
                guard code == 0 else { return code }
            }
            return 0
        }
    }

    private func put(_ state: ViewState, in transaction: OpaquePointer) -> Int32 {
        var bytes = state.encoded
        return bytes.withUnsafeMutableBytes { bytes in
            var key = ViewState.storedKey
            var value = MDB_val(mv_size: bytes.count, mv_data: bytes.baseAddress)
            return mdb_put(transaction, stateTable, &key, &value, 0)
        }
    }

    /// Returns the state after the last commit.
    package func readNewestState() throws(ViewIndexError) -> ViewState {
        let transaction = try beginReading()
        defer { endReading(transaction) }
        return try readState(transaction)
    }

    /// Returns the state that was copied into a fresh copy, which names a commit of the original.
    func readCopiedState() throws(ViewIndexError) -> ViewState {
        let transaction = try beginReading()
        defer { endReading(transaction) }
        return try readStoredState(transaction)
    }

    /// Returns the state in a transaction.
    func readState(_ transaction: LMDBReadTransaction) throws(ViewIndexError) -> ViewState {
        let state = try readStoredState(transaction)
        guard state.transaction == transaction.number else {
            throw .damaged(
                "\(path): its state is of transaction \(state.transaction), "
                    + "found under \(transaction.number)"
            )
        }
        return state
    }

    private func readStoredState(
        _ transaction: LMDBReadTransaction
    ) throws(ViewIndexError) -> ViewState {
        var key = ViewState.storedKey
        var value = MDB_val()
        let code = mdb_get(transaction.handle, stateTable, &key, &value)
        guard code == 0 else {
            throw .lmdb(code == MDB_NOTFOUND ? MDB_INVALID : code, "reading its state", path)
        }
        return try ViewState(value.bytes, path)
    }
}

extension LMDBReadTransaction {
    /// The number of the commit it shows.
    var number: UInt64 { UInt64(mdb_txn_id(handle)) }
}

extension ViewState {
    /// The key in LMDB's form; LMDB never writes to it.
    fileprivate static var storedKey: MDB_val {
        MDB_val(
            mv_size: key.utf8CodeUnitCount,
            mv_data: UnsafeMutableRawPointer(mutating: key.utf8Start)
        )
    }
}

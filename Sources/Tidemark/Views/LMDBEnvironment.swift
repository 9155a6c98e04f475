// Tidemark
// SPDX-License-Identifier: Apache-2.0

import CLMDB
import TidemarkLog

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// An open LMDB environment with a table for each `ViewTable`.
///
/// Closed when nobody holds it.
final class LMDBEnvironment: Sendable {
    /// The folder that holds it.
    let path: String
    /// LMDB's own handle; unsafe only in name: LMDB allows its use from any thread.
    nonisolated(unsafe) let handle: OpaquePointer
    /// The table handles, at the place of the table's raw value.
    ///
    /// Place 0 is LMDB's unnamed table.
    let tables: [MDB_dbi]
    /// Ended read transactions, to be started again: one that is new costs a slot and a malloc.
    private let idle = Lock<[LMDBReadTransaction]>([])

    /// How many snapshots there can be at once, of all processes.
    static let readerCount: UInt32 = 1022

    /// Opens the environment in a folder.
    init(_ path: String, _ access: ViewAccess, fileByteCount: UInt64) throws(ViewIndexError) {
        self.path = path
        let handle = try Self.openHandle(path, access, fileByteCount: fileByteCount)
        do throws(ViewIndexError) {
            tables = try Self.openTables(handle, path, access)
        } catch {
            mdb_env_close(handle)
            throw error
        }
        self.handle = handle
    }

    deinit {
        idle.withLock { idle in
            for transaction in idle { mdb_txn_abort(transaction.handle) }
            idle.removeAll()
        }
        mdb_env_close(handle)
    }

    /// LMDB maps its file into memory once, so the map must be as large as the file may ever be.
    ///
    /// Address space costs nothing, but a system may not give that much of it to a process.
    private static func openHandle(
        _ path: String,
        _ access: ViewAccess,
        fileByteCount: UInt64
    ) throws(ViewIndexError) -> OpaquePointer {
        // The file of a store that nobody writes does not grow.
        var mapByteCount = access == .readingStill ? Int(fileByteCount) : 1 << 40
        while true {
            var handle: OpaquePointer?
            var code = mdb_env_create(&handle)
            guard code == 0, let handle else { throw .lmdb(code, "making an environment", path) }
            mdb_env_set_maxdbs(handle, UInt32(ViewTable.allCases.count))
            mdb_env_set_maxreaders(handle, readerCount)
            code = mdb_env_set_mapsize(handle, mapByteCount)
            if code == 0 { code = mdb_env_open(handle, path, access.flags, 0o644) }
            if code == 0 { return handle }
            mdb_env_close(handle)
            guard code == ENOMEM, mapByteCount / 2 > Int(fileByteCount), mapByteCount > 1 << 30
            else { throw .lmdb(code, "opening the view index", path) }
            mapByteCount /= 2
        }
    }

    private static func openTables(
        _ handle: OpaquePointer,
        _ path: String,
        _ access: ViewAccess
    ) throws(ViewIndexError) -> [MDB_dbi] {
        let isWriting = access == .writing
        var transaction: OpaquePointer?
        var code = mdb_txn_begin(handle, nil, isWriting ? 0 : UInt32(MDB_RDONLY), &transaction)
        guard code == 0, let transaction else { throw .lmdb(code, "reading its tables", path) }
        var tables = [MDB_dbi](repeating: 0, count: ViewTable.allCases.count + 1)
        code = mdb_dbi_open(transaction, nil, 0, &tables[0])
        for table in ViewTable.allCases where code == 0 {
            let flags = isWriting ? UInt32(MDB_CREATE) : 0
            code = mdb_dbi_open(
                transaction,
                table.storedName,
                flags,
                &tables[Int(table.rawValue)]
            )
        }
        guard code == 0 else {
            mdb_txn_abort(transaction)
            throw .lmdb(code == MDB_NOTFOUND ? MDB_INVALID : code, "opening its tables", path)
        }
        code = mdb_txn_commit(transaction)
        guard code == 0 else { throw .lmdb(code, "opening its tables", path) }
        return tables
    }

    /// Starts a read transaction at the last commit.
    func beginReading() throws(ViewIndexError) -> LMDBReadTransaction {
        if let transaction = idle.withLock({ $0.popLast() }) {
            let code = mdb_txn_renew(transaction.handle)
            if code == 0 { return transaction }
            mdb_txn_abort(transaction.handle)
            throw .lmdb(code, "starting to read", path)
        }
        var transaction: OpaquePointer?
        let code = mdb_txn_begin(handle, nil, UInt32(MDB_RDONLY), &transaction)
        guard code == 0, let transaction else { throw .lmdb(code, "starting to read", path) }
        return LMDBReadTransaction(handle: transaction)
    }

    /// Ends a read transaction and keeps it for the next reader.
    func endReading(_ transaction: LMDBReadTransaction) {
        mdb_txn_reset(transaction.handle)
        idle.withLock { $0.append(transaction) }
    }

    /// The handle of a table.
    func handle(of table: ViewTable) -> MDB_dbi {
        tables[Int(table.rawValue)]
    }
}

/// A running read transaction.
///
/// Unchecked: LMDB lets one move between threads (`MDB_NOTLS`) as long as one at a time uses it;
/// the snapshot that holds it has a lock for that.
struct LMDBReadTransaction: @unchecked Sendable {
    let handle: OpaquePointer
}

extension ViewAccess {
    /// What LMDB is told.
    ///
    /// Commits are synced in full: an index that came back from a power failure with half a
    /// checkpoint could look sound.
    fileprivate var flags: UInt32 {
        let common = MDB_NOTLS | MDB_NORDAHEAD
        return switch self {
        case .writing: UInt32(common)
        case .readingLive: UInt32(common | MDB_RDONLY)
        case .readingStill: UInt32(common | MDB_RDONLY | MDB_NOLOCK)
        }
    }
}

extension ViewTable {
    /// The name of the table in the file.
    fileprivate var storedName: String { "t\(rawValue)" }
}

extension ViewIndexError {
    /// A call of LMDB that failed.
    static func lmdb(_ code: Int32, _ doing: String, _ path: String) -> ViewIndexError {
        let words = mdb_strerror(code).map { String(cString: $0) } ?? "unknown error"
        let what = "\(path): \(doing) failed: \(words) (error \(code))"
        switch code {
        case MDB_MAP_FULL, ENOSPC, EDQUOT:
            return ViewIndexError(
                .full,
                "\(what). The view index is as it was before; free space on that disk."
            )
        case MDB_CORRUPTED, MDB_PAGE_NOTFOUND, MDB_INVALID, MDB_VERSION_MISMATCH, MDB_PAGE_FULL,
            MDB_CURSOR_FULL, MDB_INCOMPATIBLE:
            return .damaged(what)
        default:
            return ViewIndexError(.system, what)
        }
    }

    /// What was found is not what was written.
    static func damaged(_ what: String) -> ViewIndexError {
        ViewIndexError(.damaged, "\(what). The view index is a cache: it is rebuilt from the log.")
    }
}

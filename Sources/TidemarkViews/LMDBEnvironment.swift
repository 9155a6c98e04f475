// Tidemark
// SPDX-License-Identifier: Apache-2.0

import CLMDB
import Synchronization
import TidemarkLock
import TidemarkLog

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// The use of an open LMDB environment.
///
/// It is closed when its last user lets go.
package final class LMDBEnvironment: Sendable {
    /// The folder that holds it.
    package let path: String
    /// Its files, wherever the folder is moved meanwhile.
    package let files: ViewFiles
    private let opened: LMDBOpening
    /// The number by which it is shared with others in this process; `nil` if it is not.
    private let number: Int?
    /// Ended read transactions, to be started again: one that is new costs a slot and a malloc.
    private let idle = Lock<[LMDBReadTransaction]>([])
    private let runningCount = Atomic<Int>(0)
    /// How many read transactions run at once before snapshots are shared: a small part of what all
    /// processes together may have.
    private static let runningCountLimit = 128

    /// Opens the environment in a folder, or joins those who use it in this process.
    package init(
        _ path: String,
        _ access: ViewAccess,
        mapByteCount: Int = LMDBOpening.largestMapByteCount
    ) throws(ViewIndexError) {
        self.path = path
        files = try ViewFiles(holding: path)
        if access == .readingStill {
            number = nil
            opened = try LMDBOpening(path, access)
        } else {
            (number, opened) = try LMDBOpenFolders.open(path, access, mapByteCount: mapByteCount)
        }
    }

    deinit {
        idle.withLock { idle in
            for transaction in idle { mdb_txn_abort(transaction.handle) }
            idle.removeAll()
        }
        if let number { LMDBOpenFolders.close(number) } else { opened.close() }
    }

    /// LMDB's own handle.
    package var handle: OpaquePointer { opened.handle }

    /// The handle of a table.
    func handle(of table: ViewTable) -> MDB_dbi { opened.tables[Int(table.rawValue)] }

    /// The handle of LMDB's unnamed table.
    var stateTable: MDB_dbi { opened.tables[0] }

    /// Whether as many read transactions run as one process should have.
    var isCrowded: Bool { runningCount.load(ordering: .relaxed) >= Self.runningCountLimit }

    /// The number of the last commit, as other processes made it too.
    var newestTransaction: UInt64 {
        var figures = MDB_envinfo()
        mdb_env_info(handle, &figures)
        return UInt64(figures.me_last_txnid)
    }

    /// Starts a read transaction at the last commit.
    func beginReading() throws(ViewIndexError) -> LMDBReadTransaction {
        let transaction = try renewOrBegin()
        runningCount.add(1, ordering: .relaxed)
        return transaction
    }

    private func renewOrBegin() throws(ViewIndexError) -> LMDBReadTransaction {
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

    /// Copies the last commit into a folder that is there, page after page in the order of keys.
    package func copy(to target: String) throws(ViewIndexError) {
        let copy = ViewFiles(target)
        let mode = mode_t(try copy.permissions().fileMode)
        // Given only a folder, LMDB makes the file readable for everybody.
        let file = open(copy.data, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)
        guard file >= 0 else { throw .lmdb(errno, "copying the view index", target) }
        defer { close(file) }
        let code = mdb_env_copyfd2(handle, file, UInt32(MDB_CP_COMPACT))
        guard code == 0 else { throw .lmdb(code, "copying the view index", target) }
    }

    /// Says that other files were put in the place of its own: whoever opens the folder from now on
    /// gets those.
    func setAside() {
        if let number { LMDBOpenFolders.setAside(number) }
    }

    /// Ends a read transaction and keeps it for the next reader.
    func endReading(_ transaction: LMDBReadTransaction) {
        mdb_txn_reset(transaction.handle)
        runningCount.subtract(1, ordering: .relaxed)
        idle.withLock { $0.append(transaction) }
    }
}

/// A running read transaction.
///
/// Unchecked: LMDB lets one move between threads (`MDB_NOTLS`) as long as one at a time uses it;
/// the snapshot that holds it has a lock for that.
struct LMDBReadTransaction: @unchecked Sendable {
    let handle: OpaquePointer
}

extension ViewIndexError {
    /// A call of LMDB that failed.
    package static func lmdb(_ code: Int32, _ doing: String, _ path: String) -> ViewIndexError {
        let words = mdb_strerror(code).map { String(cString: $0) } ?? "unknown error"
        let what = "\(path): \(doing) failed: \(words) (error \(code))"
        switch code {
        case MDB_MAP_FULL:
            return ViewIndexError(
                .full,
                "\(what). The view index is as it was before. It has no room in the address space that "
                    + "this process could map when it opened the store: raise the limit (`ulimit -v "
                    + "unlimited`) and open the store again."
            )
        case ENOSPC, EDQUOT:
            return ViewIndexError(
                .full,
                "\(what). The view index is as it was before; free space on that disk."
            )
        case MDB_CORRUPTED, MDB_PAGE_NOTFOUND, MDB_INVALID, MDB_VERSION_MISMATCH, MDB_PAGE_FULL,
            MDB_CURSOR_FULL, MDB_INCOMPATIBLE:
            return .damaged(what)
        case MDB_READERS_FULL:
            return ViewIndexError(
                .system,
                "\(what). So many places in processes read the store at once; close some of them."
            )
        default:
            let remedy = FileError(call: .open, path: path, errorNumber: code).remedy
            return ViewIndexError(.system, "\(what). \(remedy ?? "")")
        }
    }

    /// What was found is not what was written.
    package static func damaged(_ what: String) -> ViewIndexError {
        ViewIndexError(.damaged, "\(what). The view index is a cache: it is rebuilt from the log.")
    }
}

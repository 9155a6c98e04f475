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

/// A reference to an open LMDB environment.
///
/// The environment is closed when the last reference is released.
package final class LMDBEnvironment: Sendable {
    /// The path of the folder.
    package let path: String
    /// The environment's files, even if the folder is moved.
    package let files: ViewFiles
    private let opened: LMDBOpening
    /// The number by which the environment is shared in this process; `nil` if it is not shared.
    private let number: Int?
    /// Ended read transactions for reuse: a new one costs a slot and a malloc.
    private let idle = Lock<[LMDBReadTransaction]>([])
    private let runningCount = Atomic<Int>(0)
    /// The number of read transactions at which snapshots begin to be shared: a small part of
    /// LMDB's limit for all processes.
    private static let runningCountLimit = 128

    /// Opens the environment in a folder, or joins an open one in this process.
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

    /// Opens the environment of a writer that parked it in a folder.
    init(_ path: String, returningTo folder: LMDBOpenFolders.Folder) throws(ViewIndexError) {
        self.path = path
        files = try ViewFiles(holding: path)
        // LMDB would create what is missing.
        guard try files.exist() else { throw .replaced(path) }
        (number, opened) = try LMDBOpenFolders.open(
            path,
            .writing,
            mapByteCount: LMDBOpening.largestMapByteCount,
            returningTo: folder
        )
    }

    /// Announces that the writer closes the environment and will return to its folder.
    func park() -> LMDBOpenFolders.Folder? { number.flatMap(LMDBOpenFolders.park) }

    deinit {
        idle.withLock { idle in
            // Every transaction must end before LMDB closes the environment.
            for transaction in idle { mdb_txn_abort(transaction.handle) }
            idle.removeAll()
        }
        if let number { LMDBOpenFolders.close(number) } else { opened.close() }
    }

    /// LMDB's own handle.
    package var handle: OpaquePointer { opened.handle }

    /// Returns the handle of a table.
    func handle(of table: ViewTable) -> MDB_dbi { opened.tables[Int(table.rawValue)] }

    /// The handle of LMDB's unnamed table.
    var stateTable: MDB_dbi { opened.tables[0] }

    /// True if the number of running read transactions has reached the limit for one process.
    var isCrowded: Bool { runningCount.load(ordering: .relaxed) >= Self.runningCountLimit }

    /// The number of the last commit, including commits by other processes.
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

    /// Copies the last commit into an existing folder, page by page in key order.
    package func copy(to target: String) throws(ViewIndexError) {
        let copy = ViewFiles(target)
        let mode = mode_t(try copy.permissions().fileMode)
        // Given only a folder, LMDB makes the file readable by all users.
        let file = open(copy.data, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)
        guard file >= 0 else { throw .lmdb(errno, "copying the view index", target) }
        defer { close(file) }
        let code = mdb_env_copyfd2(handle, file, UInt32(MDB_CP_COMPACT))
        guard code == 0 else { throw .lmdb(code, "copying the view index", target) }
        copy.give(to: try copy.permissions().fileOwner)
    }

    /// True if LMDB has a table in which writers see the snapshots of this process.
    ///
    /// Where it cannot write the table, as on a volume that is mounted to be read, LMDB reads without.
    var hasReaderTable: Bool {
        var figures = MDB_envinfo()
        return mdb_env_info(handle, &figures) == 0 && figures.me_numreaders > 0
    }

    /// Lets LMDB find out that its last writer died.
    ///
    /// It then takes the newest commit for the last one, which it does not for a process that only
    /// reads.
    func noticeDeadWriter() throws(ViewIndexError) {
        var transaction: OpaquePointer?
        let code = mdb_txn_begin(handle, nil, 0, &transaction)
        guard code == 0 else { throw .lmdb(code, "starting to write", path) }
        mdb_txn_abort(transaction)
    }

    /// Marks the files as replaced: later opens of the folder use the new files.
    func setAside() {
        if let number { LMDBOpenFolders.setAside(number) }
    }

    /// Ends a read transaction and keeps it for the next reader.
    func endReading(_ transaction: LMDBReadTransaction) {
        mdb_txn_reset(transaction.handle)
        runningCount.subtract(1, ordering: .relaxed)
        // A reset transaction has no snapshot, so an idle one keeps no pages from reuse. It keeps
        // its slot in LMDB's table of readers.
        idle.withLock { $0.append(transaction) }
    }
}

/// A running read transaction.
///
/// Unchecked: LMDB lets a transaction move between threads (`MDB_NOTLS`) if one thread at a time
/// uses it; the snapshot that owns it has a lock for that.
struct LMDBReadTransaction: @unchecked Sendable {
    let handle: OpaquePointer
}

extension ViewIndexError {
    /// Creates the error for a failed call of LMDB.
    package static func lmdb(_ code: Int32, _ doing: String, _ path: String) -> ViewIndexError {
        let words = mdb_strerror(code).map { String(cString: $0) } ?? "unknown error"
        let what = "\(path): \(doing) failed: \(words) (error \(code))"
        switch code {
        case MDB_MAP_FULL:
            return ViewIndexError(
                .full,
                "\(what). The view index is as it was before. It has no room in the address space that "
                    + "this process could map when it opened the store: raise the limit (`ulimit -v "
                    + "unlimited`) or close other stores, and open the store again."
            )
        case ENOSPC, EDQUOT:
            return ViewIndexError(
                .full,
                "\(what). The view index is as it was before; free space on that disk."
            )
        case MDB_CORRUPTED, MDB_PAGE_NOTFOUND, MDB_INVALID, MDB_VERSION_MISMATCH, MDB_PAGE_FULL,
            MDB_CURSOR_FULL, MDB_INCOMPATIBLE:
            return .damaged(what)
        case MDB_MAP_RESIZED:
            return ViewIndexError(
                .outgrown,
                "\(what). Another process has made the view index larger than the address space that "
                    + "this process mapped for it: close the store and open it again."
            )
        case MDB_READERS_FULL:
            return ViewIndexError(
                .system,
                "\(what). Too many readers have the store open at once; close some of them."
            )
        default:
            let remedy = FileError(call: .open, path: path, errorNumber: code).remedy
            return ViewIndexError(.system, "\(what). \(remedy ?? "")")
        }
    }

    /// Creates the error for an index that is no longer the one that this process has written.
    static func replaced(_ path: String) -> ViewIndexError {
        .damaged(
            "\(path): the view index was removed or replaced while the store was open; close the "
                + "store and open it again"
        )
    }

    /// Creates the error for an index of a writer that would not see the reader.
    static func noReaderTable(_ path: String) -> ViewIndexError {
        ViewIndexError(
            .unseen,
            "\(path): the table of readers cannot be written, so a writer would reuse pages that are "
                + "being read."
        )
    }

    /// Creates the error for bytes that differ from the bytes written.
    package static func damaged(_ what: String) -> ViewIndexError {
        ViewIndexError(.damaged, "\(what). The view index is a cache: it is rebuilt from the log.")
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import CLMDB
import TidemarkLock
import TidemarkLog

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// One opening of an LMDB environment: its handle and those of its tables.
///
/// Unchecked: LMDB allows the use of an environment and its tables from any thread.
package struct LMDBOpening: @unchecked Sendable {
    /// LMDB's own handle.
    package let handle: OpaquePointer
    /// The table handles, at the place of the table's raw value; first LMDB's unnamed table.
    let tables: [MDB_dbi]

    /// How many snapshots there can be at once, of all processes.
    private static let readerCount: UInt32 = 1022

    /// How large the map of a file that may grow is, if the system gives that much: room for two
    /// thousand million records, and for hundreds of open stores in one process.
    static var largestMapByteCount: Int {
        #if TIDEMARK_PTHREAD_LOCK
        // The sanitizer leaves a process little address space.
        1 << 32
        #else
        1 << 38
        #endif
    }

    /// Opens the environment in a folder, and its tables; `writing` creates them.
    package init(
        _ path: String,
        _ access: ViewAccess,
        mapByteCount: Int = largestMapByteCount
    ) throws(ViewIndexError) {
        handle = try Self.openHandle(path, access, mapByteCount)
        do throws(ViewIndexError) {
            tables = try Self.openTables(handle, path, access)
        } catch {
            mdb_env_close(handle)
            throw error
        }
    }

    /// Closes it; every transaction must have ended.
    package func close() {
        mdb_env_close(handle)
    }

    /// Opens the environment with as large a map as can be had.
    ///
    /// LMDB maps its file into memory once, so the map must be as large as the file may ever be.
    /// Address space costs nothing, but a system may not give that much of it to a process.
    private static func openHandle(
        _ path: String,
        _ access: ViewAccess,
        _ largest: Int
    ) throws(ViewIndexError) -> OpaquePointer {
        let files = ViewFiles(path)
        let fileByteCount = try files.exist() ? Int(files.dataByteCount()) : 0
        let fileMode = mode_t(try files.permissions().fileMode)
        // The file of a store that nobody writes does not grow.
        var mapByteCount = access == .readingStill ? fileByteCount : Self.mapByteCount(largest)
        while true {
            var created: OpaquePointer?
            var code = mdb_env_create(&created)
            guard code == 0, let handle = created else {
                throw .lmdb(code, "making an environment", path)
            }
            mdb_env_set_maxdbs(handle, UInt32(ViewTable.allCases.count))
            mdb_env_set_maxreaders(handle, readerCount)
            code = mdb_env_set_mapsize(handle, mapByteCount)
            if code == 0 { code = mdb_env_open(handle, path, access.flags, fileMode) }
            if code == 0 { return handle }
            mdb_env_close(handle)
            // Too large a map is ENOMEM, under valgrind EINVAL.
            guard code == ENOMEM || code == EINVAL, mapByteCount > smallestMapByteCount,
                mapByteCount / 4 > fileByteCount
            else {
                // The other file was looked at before.
                let file = code == EISDIR ? "\(path)/lock.mdb" : path
                throw .lmdb(code, "opening the view index", file)
            }
            mapByteCount /= 2
        }
    }

    /// How large a map that may grow is at least.
    package static let smallestMapByteCount = 1 << 26

    /// A map of at most half of what remains of a limited address space, so that the rest of the process
    /// has as much; a multiple of every length of pages.
    private static func mapByteCount(_ largest: Int) -> Int {
        guard let remaining = AddressSpace.remainingByteCount else { return largest }
        let half = Int(clamping: remaining / 2) & ~0xFFFF
        return min(largest, max(half, smallestMapByteCount))
    }

    private static func openTables(
        _ handle: OpaquePointer,
        _ path: String,
        _ access: ViewAccess
    ) throws(ViewIndexError) -> [MDB_dbi] {
        // Only a new index is written to, so that opening one twice leaves the same bytes.
        let isNew = access == .writing && isEmpty(handle)
        var begun: OpaquePointer?
        var code = mdb_txn_begin(handle, nil, isNew ? 0 : UInt32(MDB_RDONLY), &begun)
        guard code == 0, let transaction = begun else {
            throw .lmdb(code, "reading its tables", path)
        }
        var tables = [MDB_dbi](repeating: 0, count: ViewTable.allCases.count + 1)
        code = mdb_dbi_open(transaction, nil, 0, &tables[0])
        for table in ViewTable.allCases where code == 0 {
            code = mdb_dbi_open(
                transaction,
                table.storedName,
                isNew ? UInt32(MDB_CREATE) : 0,
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

    private static func isEmpty(_ handle: OpaquePointer) -> Bool {
        var figures = MDB_stat()
        return mdb_env_stat(handle, &figures) == 0 && figures.ms_entries == 0
    }
}

/// The environments that this process has open with LMDB's locks, by their folders.
///
/// LMDB must not open one twice in a process: closing either would drop the locks of both. So a
/// reader joins an environment that is open here already.
enum LMDBOpenFolders {
    private struct Entry {
        let opening: LMDBOpening
        var userCount = 1
        /// The folder that it is found by; `nil` once other files are in its place there.
        var folder: Folder?
    }

    /// What tells one folder from another, whatever it is called and whatever links lead to it.
    private struct Folder: Hashable {
        let device: UInt64
        let number: UInt64
    }

    private struct Entries {
        var all: [Int: Entry] = [:]
        var numbers: [Folder: Int] = [:]
        var lastNumber = 0
    }

    // The lock is held while LMDB opens and closes files: that is what has to be one at a time.
    private static let entries = Lock(Entries())

    /// Opens the environment in a folder that is there; returns it and the number to close it by.
    static func open(
        _ path: String,
        _ access: ViewAccess,
        mapByteCount: Int
    ) throws(ViewIndexError) -> (number: Int, opening: LMDBOpening) {
        let folder = try folder(at: path)
        return try entries.withLock { entries throws(ViewIndexError) in
            if let number = entries.numbers[folder], let entry = entries.all[number] {
                guard access == .readingLive else {
                    throw ViewIndexError(
                        .system,
                        "\(path): this process has the view index open already. Close the store "
                            + "or the snapshots that use it first."
                    )
                }
                entries.all[number]?.userCount += 1
                return (number, entry.opening)
            }
            let opening = try LMDBOpening(path, access, mapByteCount: mapByteCount)
            entries.lastNumber += 1
            entries.numbers[folder] = entries.lastNumber
            entries.all[entries.lastNumber] = Entry(opening: opening, folder: folder)
            return (entries.lastNumber, opening)
        }
    }

    /// Lets whoever comes next open what is in the folder by then: other files were put in the place
    /// of those that are open.
    static func setAside(_ number: Int) {
        entries.withLock { entries in
            guard let folder = entries.all[number]?.folder else { return }
            entries.all[number]?.folder = nil
            entries.numbers[folder] = nil
        }
    }

    /// Lets go of it; the last user closes it.
    static func close(_ number: Int) {
        entries.withLock { entries in
            guard let entry = entries.all[number] else { return }
            if entry.userCount > 1 {
                entries.all[number]?.userCount -= 1
            } else {
                entries.all[number] = nil
                if let folder = entry.folder { entries.numbers[folder] = nil }
                entry.opening.close()
            }
        }
    }

    private static func folder(at path: String) throws(ViewIndexError) -> Folder {
        var status = stat()
        guard stat(path, &status) == 0 else {
            let error = FileError(call: .stat, path: path, errorNumber: errno)
            throw ViewIndexError(error.isMissing ? .damaged : .system, "\(error)")
        }
        return Folder(
            device: UInt64(truncatingIfNeeded: status.st_dev),
            number: UInt64(status.st_ino)
        )
    }
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

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

/// An open LMDB environment: its handle and those of its tables.
///
/// Unchecked: LMDB allows the use of an environment and its tables from any thread.
package struct LMDBOpening: @unchecked Sendable {
    /// LMDB's own handle.
    package let handle: OpaquePointer
    /// The table handles, at the place of the table's raw value; first LMDB's unnamed table.
    let tables: [MDB_dbi]

    /// The maximum number of snapshots in all processes.
    private static let readerCount: UInt32 = 1022

    /// The map size of a growing file, if the system has that much address space: room for two
    /// billion records.
    static var largestMapByteCount: Int {
        #if TIDEMARK_PTHREAD_LOCK
        // The sanitizer leaves little address space to a process.
        1 << 32
        #else
        1 << 38
        #endif
    }

    /// Returns the map size of a growing file in a process that has other environments open.
    ///
    /// Linux gives a process 2^47 bytes of address space, which 512 of the largest maps fill. Each
    /// level of sizes takes at most a quarter of that, so that some ten thousand stores can be open
    /// at once. The smallest has room for thirty million records.
    package static func largestMapByteCount(besides openCount: Int) -> Int {
        switch openCount {
        case ..<128: largestMapByteCount
        case ..<1_024: min(largestMapByteCount, 1 << 35)
        default: min(largestMapByteCount, 1 << 32)
        }
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

    /// Closes the environment; every transaction must have ended.
    package func close() {
        mdb_env_close(handle)
    }

    /// Opens the environment with the largest possible map.
    ///
    /// LMDB maps its file once, so the map must have the file's maximum size. Address space costs
    /// nothing, but a system may limit it for a process.
    private static func openHandle(
        _ path: String,
        _ access: ViewAccess,
        _ largest: Int
    ) throws(ViewIndexError) -> OpaquePointer {
        let files = ViewFiles(path)
        let isNew = try !files.exist()
        let fileByteCount = isNew ? 0 : try Int(files.dataByteCount())
        let permissions = try files.permissions()
        let fileMode = mode_t(permissions.fileMode)
        // A large file needs room to grow, however many others are open.
        let roomy = max(largest, min(Self.largestMapByteCount, fileByteCount * 4))
        // The file does not grow if no process writes to the store.
        var mapByteCount = access == .readingStill ? fileByteCount : Self.mapByteCount(roomy)
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
            if code == 0 {
                // Also of an index that exists: LMDB creates its table of readers if that is missing.
                if access != .readingStill { files.give(to: permissions.fileOwner) }
                return handle
            }
            mdb_env_close(handle)
            // A map that is too large fails with ENOMEM, under valgrind with EINVAL.
            guard code == ENOMEM || code == EINVAL, mapByteCount > smallestMapByteCount,
                // After halving, the map must still leave the file room to double.
                mapByteCount / 4 > fileByteCount
            else {
                // The other file was checked before.
                let file = code == EISDIR ? "\(path)/lock.mdb" : path
                throw .lmdb(code, "opening the view index", file)
            }
            mapByteCount /= 2
        }
    }

    /// The minimum map size of a growing file.
    package static let smallestMapByteCount = 1 << 26

    /// Returns a map size of at most half of the remaining address space, so that the rest of the
    /// process has as much; a multiple of all page lengths.
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
        // Only a new index is written to, so that two opens leave the same bytes.
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
        // Committed even if it only read: LMDB closes the tables that an aborted transaction
        // opened.
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
/// LMDB must not open an environment twice in a process: closing either one would drop the locks of
/// both. A reader therefore joins an environment that is already open here.
enum LMDBOpenFolders {
    private struct Entry {
        let opening: LMDBOpening
        /// The data file that is open; other files may have replaced it in the folder since.
        let file: FileNumber
        var userCount = 1
        /// The folder's identity; `nil` after other files have replaced these.
        var folder: Folder?
    }

    /// The identity of a file or folder, independent of its path and of links.
    struct FileNumber: Hashable {
        let device: UInt64
        let number: UInt64
    }

    typealias Folder = FileNumber

    private struct Entries {
        var all: [Int: Entry] = [:]
        var numbers: [Folder: Int] = [:]
        /// Folders whose writer has closed its environment, and will open it again.
        var parked: Set<Folder> = []
        var lastNumber = 0

        /// Marks open files as replaced.
        mutating func setAside(_ number: Int) {
            guard let folder = all[number]?.folder else { return }
            all[number]?.folder = nil
            numbers[folder] = nil
        }
    }

    // The lock is held while LMDB opens and closes files, because those calls must not overlap.
    private static let entries = Lock(Entries())

    /// Opens the environment in an existing folder; returns it and the number for closing it.
    ///
    /// A writer that parked its environment gives the folder in which it did.
    static func open(
        _ path: String,
        _ access: ViewAccess,
        mapByteCount: Int,
        returningTo parked: Folder? = nil
    ) throws(ViewIndexError) -> (number: Int, opening: LMDBOpening) {
        let folder = try number(at: path)
        if let parked, parked != folder { throw .replaced(path) }
        return try entries.withLock { entries throws(ViewIndexError) in
            // Another process may have replaced the files, which a snapshot here still has open.
            let file = try? number(at: ViewFiles(path).data)
            if let number = entries.numbers[folder], entries.all[number]?.file != file {
                entries.setAside(number)
            }
            let isParked = entries.parked.contains(folder)
            let isInUse = isParked || entries.numbers[folder] != nil
            // Only a reader joins: a store has one writer.
            guard access == .readingLive || parked != nil || !isInUse else {
                throw ViewIndexError(
                    .system,
                    "\(path): this process has the view index open already. Close the store "
                        + "or the snapshots that use it first."
                )
            }
            if let number = entries.numbers[folder], let entry = entries.all[number] {
                entries.all[number]?.userCount += 1
                return (number, entry.opening)
            }
            let largest = LMDBOpening.largestMapByteCount(besides: entries.all.count)
            let opening = try LMDBOpening(
                path,
                // A writer that returns joins the environment that a reader has opened meanwhile.
                isParked ? .writing : access,
                mapByteCount: min(mapByteCount, largest)
            )
            // LMDB opens files by their path, which may lead elsewhere since the check above.
            if parked != nil, (try? number(at: path)) != folder {
                opening.close()
                throw .replaced(path)
            }
            let opened: FileNumber
            do throws(ViewIndexError) {
                opened = try number(at: ViewFiles(path).data)
            } catch {
                opening.close()
                throw error
            }
            entries.lastNumber += 1
            entries.numbers[folder] = entries.lastNumber
            entries.all[entries.lastNumber] = Entry(
                opening: opening,
                file: opened,
                folder: folder
            )
            return (entries.lastNumber, opening)
        }
    }

    /// Marks open files as replaced, so that the next open uses the new files in the folder.
    static func setAside(_ number: Int) {
        entries.withLock { $0.setAside(number) }
    }

    /// Announces that a writer closes its environment and will return; `nil` if other files have
    /// replaced the open ones.
    static func park(_ number: Int) -> Folder? {
        entries.withLock { entries in
            guard let folder = entries.all[number]?.folder else { return nil }
            entries.parked.insert(folder)
            return folder
        }
    }

    /// Announces that a writer has returned, or will not.
    static func endParking(in folder: Folder) {
        _ = entries.withLock { $0.parked.remove(folder) }
    }

    /// Releases a reference; the last release closes the environment.
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

    private static func number(at path: String) throws(ViewIndexError) -> FileNumber {
        var status = stat()
        guard stat(path, &status) == 0 else {
            let error = FileError(call: .stat, path: path, errorNumber: errno)
            throw ViewIndexError(error.isMissing ? .damaged : .system, "\(error)")
        }
        return FileNumber(
            device: UInt64(truncatingIfNeeded: status.st_dev),
            number: UInt64(status.st_ino)
        )
    }
}

extension ViewAccess {
    /// The flags for LMDB.
    ///
    /// Commits are fully synced: after a power failure, an index with half a checkpoint could look
    /// sound.
    fileprivate var flags: UInt32 {
        // Without `MDB_NOTLS`, LMDB ties a read transaction to its thread. A snapshot may move to
        // another thread, and one thread may have several.
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

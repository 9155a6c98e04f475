// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLock

/// The steps of opening a log for writing.
///
/// A crash between any two steps leaves a store that the next open recovers.
struct LogOpening {
    let folder: StoreFolder
    let configuration: LogConfiguration
    let environment: LogEnvironment

    var fileSystem: any FileSystem { environment.fileSystem }

    /// Returns the same opening, bound to the folder that is at the path now; creates the folder if
    /// requested and nothing is there.
    func holdingFolder(creating: Bool) throws(LogError) -> LogOpening {
        let (isThere, isStore) = try LogError.wrapping { () throws(FileError) in
            (try fileSystem.exists(folder.path), try fileSystem.exists(folder.current))
        }
        if creating, !isStore { try folder.checkOutsideOfStores(fileSystem) }
        guard isThere || creating else {
            throw notAStore(
                "Nothing is at this path",
                remedy: "The access `creating` creates a store here, and so do "
                    + "`tidemark import`, `save` and `serve`."
            )
        }
        var held = environment
        held.fileSystem = try LogError.wrapping { () throws(FileError) in
            let fileSystem = fileSystem.permitting(configuration.permissions)
            if !isThere { try fileSystem.createDirectory(folder.path) }
            // The folder itself may have been created in advance for the store.
            // An existing store keeps its permissions, whatever the configuration says.
            return try fileSystem.holding(folder.path).permitting(asIn: folder.segments)
        }
        return LogOpening(folder: folder, configuration: configuration, environment: held)
    }

    /// Opens the store, or creates it if requested and the folder is empty.
    func open(
        creating: Bool,
        asCopyOf original: StoreID? = nil
    ) throws(LogError) -> OpenedLog {
        // Before the lock, whose file would otherwise be created in a folder that is not a store's.
        try checkUnused(creating: creating, isCopy: original != nil)
        let lockFile = try lock()
        guard let loaded = try LoadedManifest.load(from: folder, fileSystem: fileSystem) else {
            // Creation removes existing files, so this is checked while no other writer can exist.
            try checkUnused(creating: creating, isCopy: original != nil)
            return try create(lockFile: lockFile, asCopyOf: original)
        }
        // The lost edits may have listed segments. Without them, the next checks would report sound
        // files as strays or remove them.
        if let damage = loaded.damage { throw damage }
        // This checks everything before it writes anything. If a check throws, salvage finds the
        // files as they were.
        return try recover(loaded, lockFile: lockFile)
    }

    private func notAStore(_ found: String, remedy: String) -> LogError {
        LogError(
            .notAStore,
            "\(found); expected a store's folder with a file CURRENT. Check the path. \(remedy)",
            path: folder.path
        )
    }

    /// Checks that a folder without `CURRENT` is empty or holds only the remains of an interrupted
    /// creation, and no commits.
    private func checkUnused(creating: Bool, isCopy: Bool) throws(LogError) {
        let names = try folder.names(fileSystem)
        if names.contains("CURRENT") { return }
        if names.contains("CURRENT.unfinished"), !isCopy { throw .unfinishedSalvage(folder) }
        do throws(LogError) {
            try folder.checkHoldsNoCommits(fileSystem)
        } catch {
            // Another process may have created the store meanwhile.
            let isThere = try LogError.wrapping { () throws(FileError) in
                try fileSystem.exists(folder.current)
            }
            if isThere { return }
            throw error
        }
        var ours: Set<String> = ["LOCK", "CURRENT.tmp", "segments", "views"]
        if isCopy { ours.formUnion(["CURRENT.unfinished", "RESERVE", "assets"]) }
        let isOurs = names.allSatisfy {
            ours.contains($0) || StoreFolder.manifestNumber($0) != nil
        }
        guard isOurs else {
            throw notAStore(
                "The folder holds other files",
                remedy: "A new store needs an empty folder, or a path that does not exist yet."
            )
        }
        guard creating else {
            throw notAStore(
                "The folder is empty",
                remedy: "The access `creating` creates a store here, and so do "
                    + "`tidemark import`, `save` and `serve`."
            )
        }
    }

    /// Locks out every other writer.
    ///
    /// A reader that checks for a writer holds the lock for an instant, so one failed attempt is
    /// not final.
    func lock() throws(LogError) -> any LogFile {
        let file = try LogError.wrapping { () throws(FileError) in try openLockFile() }
        let attemptCount = environment.writesInline ? 1 : 40
        for attempt in 1...attemptCount {
            if try LogError.wrapping({ () throws(FileError) in try file.lock(.exclusive) }) {
                return file
            }
            if attempt < attemptCount {
                pauseThread(for: .milliseconds(5))
            }
        }
        throw LogError(
            .locked,
            "\(Self.text(file.lockHolder())) has the store open for writing. Close it there, or "
                + "open it for reading only.",
            path: folder.lock
        )
    }

    private static func text(_ holder: LockHolder?) -> String {
        guard let holder else { return "Another process, or this one," }
        return holder.isThisProcess
            ? "This process" : holder.description
    }

    private func openLockFile() throws(FileError) -> any LogFile {
        do throws(FileError) {
            return try fileSystem.open(
                folder.lock,
                try fileSystem.exists(folder.lock) ? .readWrite : .create
            )
        } catch {
            // Another process may have created the store meanwhile.
            guard try fileSystem.exists(folder.lock) else { throw error }
            return try fileSystem.open(folder.lock, .readWrite)
        }
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// A folder that a salvage fills, and that is not a store before the salvage is complete.
///
/// The log is written as usual, but its `CURRENT` has another name meanwhile. The remains of an
/// interrupted salvage therefore cannot be opened, and the next salvage into the folder starts
/// over.
struct UnfinishedStore {
    let folder: StoreFolder
    let fileSystem: any FileSystem

    /// Removes the remains of an interrupted salvage; does nothing to any other folder.
    func clear() throws(LogError) {
        try LogError.wrapping { () throws(FileError) in
            guard try fileSystem.exists(folder.unfinishedCurrent),
                try !fileSystem.exists(folder.current)
            else { return }
            // `CURRENT.unfinished` stays. After an interruption here, it still marks the folder as
            // one that a salvage may clear.
            if try fileSystem.exists(folder.segments) {
                for name in try fileSystem.list(folder.segments) {
                    try fileSystem.remove(folder.segments + "/" + name)
                }
            }
            for name in try fileSystem.list(folder.path)
            where StoreFolder.manifestNumber(name) != nil {
                try fileSystem.remove(folder.path + "/" + name)
            }
            for path in [folder.nextCurrent, folder.reserve, folder.erasing, folder.nextErasing]
            where try fileSystem.exists(path) {
                try fileSystem.remove(path)
            }
        }
    }

    /// Renames `CURRENT` of the store that has just been created.
    func hide() throws(LogError) {
        try rename(folder.current, to: folder.unfinishedCurrent)
    }

    /// Turns the written files into a store, durably.
    func finish() throws(LogError) {
        try rename(folder.unfinishedCurrent, to: folder.current)
    }

    private func rename(_ path: String, to target: String) throws(LogError) {
        try LogError.wrapping { () throws(FileError) in
            try fileSystem.rename(path, to: target)
            try fileSystem.syncDirectory(folder.path)
        }
    }
}

extension LogError {
    /// Returns the error for a folder into which a salvage was interrupted.
    static func unfinishedSalvage(_ folder: StoreFolder) -> LogError {
        LogError(
            .notAStore,
            "A salvage into this folder was interrupted. Run it again; it starts from the "
                + "beginning.",
            path: folder.path
        )
    }
}

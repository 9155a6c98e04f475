// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// A folder that a salvage fills: no store before all is there.
///
/// A log is written there as anywhere else, but its `CURRENT` has another name meanwhile. So nobody
/// opens what a salvage has left that was cut off, and the next one into the folder begins anew.
struct UnfinishedStore {
    let folder: StoreFolder
    let fileSystem: any FileSystem

    /// Removes what a salvage has left that was cut off; does nothing to any other folder.
    func clear() throws(LogError) {
        try LogError.wrapping { () throws(FileError) in
            guard try fileSystem.exists(folder.unfinishedCurrent),
                try !fileSystem.exists(folder.current)
            else { return }
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

    /// Takes the name from the store that has just been created.
    func hide() throws(LogError) {
        try rename(folder.current, to: folder.unfinishedCurrent)
    }

    /// Makes a store of what has been written, durably.
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
    /// A folder without `CURRENT` that is not empty either.
    static func unfinishedSalvage(_ folder: StoreFolder) -> LogError {
        LogError(
            .notAStore,
            "A salvage into this folder was cut off. Run it again: it begins anew.",
            path: folder.path
        )
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The checks of a folder whose `CURRENT` does not lead to a manifest.
extension StoreFolder {
    /// Returns the names in the folder; throws if `CURRENT` is one of them but names no existing
    /// file.
    func names(_ fileSystem: any FileSystem) throws(LogError) -> [String] {
        let (names, isThere) = try LogError.wrapping { () throws(FileError) in
            (try fileSystem.list(path), try fileSystem.exists(current))
        }
        guard isThere || !names.contains("CURRENT") else {
            throw LogError(
                .corrupted,
                "CURRENT is a symbolic link to a file that does not exist. Restore the file from a "
                    + "backup; `tidemark log salvage` rebuilds the store from its segments.",
                path: current
            )
        }
        return names
    }

    /// Throws if a folder without `CURRENT` has segments with commits, or holds an unfinished copy.
    ///
    /// Segments with commits are the remains of a store.
    func checkHoldsNoCommits(_ fileSystem: any FileSystem) throws(LogError) {
        let isCopy = try LogError.wrapping { () throws(FileError) in
            try fileSystem.exists(copying)
        }
        if isCopy { throw .unfinishedCopy(self) }
        for id in try segmentNames(fileSystem).compactMap(SegmentID.init(fileName:))
        where try holdsCommits(id, fileSystem) {
            throw .lostCurrent(self)
        }
    }

    /// Returns true if a segment has frames with events, or cannot be parsed.
    func holdsCommits(
        _ id: SegmentID,
        _ fileSystem: any FileSystem
    ) throws(LogError) -> Bool {
        let file = try LogError.wrapping { () throws(FileError) in
            try fileSystem.open(segment(id), .read)
        }
        let header: FileHeader
        do throws(LogError) {
            header = try FileHeader.read(from: file, kind: .segment)
        } catch {
            // Unparsable bytes may be commits; unreadable bytes may be readable later.
            if error.cause != nil { throw error }
            return true
        }
        var scan = try FrameScan(file, header: header)
        while true {
            switch try scan.step() {
            case .frame(let frame): if frame.header.kind.holdsEvents { return true }
            // The bytes may be commits, so no creation may remove the file.
            case .stop(.unsound): return true
            case .stop: return false
            }
        }
    }
}

extension LogError {
    /// Returns the error for a folder without `CURRENT` that has commits.
    static func lostCurrent(_ folder: StoreFolder) -> LogError {
        LogError(
            .corrupted,
            "The file CURRENT is missing, but the folder has segments with commits. `tidemark log "
                + "salvage` rebuilds the store from them in another folder. A backup may have "
                + "fewer commits; restore it into another folder too.",
            path: folder.current
        )
    }

    /// Returns the error for a folder without `CURRENT` that holds an unfinished copy.
    static func unfinishedCopy(_ folder: StoreFolder) -> LogError {
        LogError(
            .notAStore,
            "A backup, a restore or a fork into this folder was interrupted. Run it again.",
            path: folder.path
        )
    }
}

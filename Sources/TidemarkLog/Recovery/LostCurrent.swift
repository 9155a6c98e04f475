// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// What a folder may be whose `CURRENT` does not lead to a manifest.
extension StoreFolder {
    /// The names in the folder; throws if `CURRENT` is one of them and leads nowhere.
    func names(_ fileSystem: any FileSystem) throws(LogError) -> [String] {
        let (names, isThere) = try LogError.wrapping { () throws(FileError) in
            (try fileSystem.list(path), try fileSystem.exists(current))
        }
        guard isThere || !names.contains("CURRENT") else {
            throw LogError(
                .corrupted,
                "CURRENT is a symbolic link to where nothing is. Bring the file back from a backup; "
                    + "`tidemark log salvage` rebuilds the store from its segments.",
                path: current
            )
        }
        return names
    }

    /// Throws if the folder, which has no `CURRENT`, has segments with commits, so that it is what is
    /// left of a store, or if a copy into it was cut off.
    func checkHoldsNoCommits(_ fileSystem: any FileSystem) throws(LogError) {
        let isCopy = try LogError.wrapping { () throws(FileError) in
            try fileSystem.exists(copying)
        }
        if isCopy { throw .unfinishedCopy(self) }
        let names = try LogError.wrapping { () throws(FileError) in
            try fileSystem.exists(segments) ? try fileSystem.list(segments) : []
        }
        for id in names.compactMap(SegmentID.init(fileName:))
        where try holdsCommits(id, fileSystem) {
            throw .lostCurrent(self)
        }
    }

    /// Whether a segment has frames with events, or cannot be understood.
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
            // What cannot be understood may be commits; what cannot be read may be read later.
            if error.cause != nil { throw error }
            return true
        }
        var scan = try FrameScan(file, header: header)
        while true {
            switch try scan.step() {
            case .frame(let frame): if frame.header.kind.holdsEvents { return true }
            case .stop(.unsound): return true
            case .stop: return false
            }
        }
    }
}

extension LogError {
    /// A folder without `CURRENT` that has commits.
    static func lostCurrent(_ folder: StoreFolder) -> LogError {
        LogError(
            .corrupted,
            "The file CURRENT is missing, and the folder has segments with commits. `tidemark log "
                + "salvage` rebuilds the store from them in another folder. A backup may have fewer; "
                + "restore it into another folder too.",
            path: folder.current
        )
    }

    /// A folder without `CURRENT` that something was being copied to.
    static func unfinishedCopy(_ folder: StoreFolder) -> LogError {
        LogError(
            .notAStore,
            "A backup, a restore or a fork into this folder was cut off. Run it again.",
            path: folder.path
        )
    }
}

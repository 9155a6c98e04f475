// Tidemark
// SPDX-License-Identifier: Apache-2.0

// What a crash left behind, found and removed.
extension LogOpening {
    func segmentFolderNames() throws(LogError) -> [String] {
        try LogError.wrapping { () throws(FileError) in
            try fileSystem.exists(folder.segments) ? try fileSystem.list(folder.segments) : []
        }
    }

    /// What a crash left behind: prepared segments, a segment that got its name but not its line in
    /// the manifest, and segments that compaction was about to remove.
    ///
    /// One behind the manifest's last is empty; one with commits there means that the manifest is
    /// not the one it should be. But behind a backup, whose manifest has no segment that takes events,
    /// it is of the next backup, which was cut off.
    func orphans(of manifest: Manifest) throws(LogError) -> [String] {
        let known = Set(manifest.segments.map(\.id))
        var orphans: [String] = []
        for name in try segmentFolderNames() {
            if let id = SegmentID(fileName: name) {
                if known.contains(id) { continue }
                if manifest.active != nil, try folder.holdsCommits(id, fileSystem),
                    manifest.segments.last.map({ id > $0.id }) ?? true
                {
                    throw LogError(
                        .corrupted,
                        "The segment holds commits, and the manifest does not know it. The "
                            + "manifest is an old one, or the file is from elsewhere; `tidemark "
                            + "log salvage` copies what both hold.",
                        path: folder.segment(id)
                    )
                }
            } else if !StoreFolder.isSpare(name) {
                continue
            }
            orphans.append(name)
        }
        return orphans
    }

    /// Removes orphans, but those whose name a new segment has taken, and segments that somebody may
    /// still read who found the store as it was before compaction replaced them.
    func remove(
        _ orphans: [String],
        sparing manifest: Manifest,
        isRead: Bool
    ) throws(LogError) {
        let known = Set(manifest.segments.map(\.id.fileName))
        for name in orphans
        where !known.contains(name) && (!isRead || StoreFolder.isSpare(name)) {
            let path = folder.segments + "/" + name
            try LogError.wrapping { () throws(FileError) in
                if try fileSystem.exists(path) { try fileSystem.remove(path) }
            }
        }
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

// What a crash left behind, found and removed.
extension LogOpening {
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

// Tidemark
// SPDX-License-Identifier: Apache-2.0

// Finds and removes the files that a crash left behind.
extension LogOpening {
    /// Removes orphans, except names that a new segment has taken, and replaced segments that a
    /// reader of the old state may still use.
    func remove(
        _ orphans: [String],
        sparing manifest: Manifest,
        isRead: Bool
    ) throws(LogError) {
        // Orphans were listed before this open made a segment, which may have taken the name of
        // one.
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

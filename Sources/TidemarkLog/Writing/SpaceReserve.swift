// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// Disk space that is reserved, so that a log can still be compacted on a full disk.
extension SegmentLog {
    /// The maximum space that a compaction of the finished segments needs at one time.
    ///
    /// The sum of the longest segment that it would write, the short segment that its first entry
    /// begins, their dictionaries, and the growth of the manifest.
    private var neededByteCount: UInt64 {
        let lengths = manifest.manifest.segments.compactMap(\.fileByteCount)
        let finished = lengths.reduce(0, +)
        if finished == 0 { return 0 }
        let segment = configuration.segmentByteCount
        let merged = Layout.mergedByteCount(of: finished, segmentByteCount: segment)
        let begun = min(Layout.smallestSegmentByteCount, segment)
        let besides = begun + 2 * Layout.dictionaryByteCount + Layout.manifestByteCount
        return min(finished, max(merged, lengths.max() ?? 0)) + UInt64(besides)
    }

    /// Shortens the reserve of a log that is being closed, which has `byteCount` bytes in use and
    /// `room` for more.
    ///
    /// Nothing compacts a closed log. The next segment that is finished makes the reserve grow.
    func cutReserve(byteCount: UInt64, room: Int) {
        let limit = Self.spareByteCountLimit(of: byteCount)
        // A quarter is for free pages of the views.
        let besides = limit / 4 + UInt64(max(room, 0)) + UInt64(2 * Layout.manifestByteCount)
        let permitted = limit - min(limit, besides)
        let fileSystem = environment.fileSystem
        // A reserve that could not be shortened is harmless.
        guard let status = try? fileSystem.status(of: folder.reserve), status.byteCount > permitted
        else { return }
        try? fileSystem.open(folder.reserve, .readWrite).truncate(to: permitted)
    }

    /// Reserves the space that a compaction would need now, unless a compaction uses the reserve or
    /// the disk is full.
    ///
    /// Runs only in the background, which closing waits for.
    func growReserve() {
        guard !isUsingReserve.load(ordering: .relaxed) else { return }
        let fileSystem = environment.fileSystem
        // Without the reserve, a full disk cannot be compacted; that is no reason to reject
        // anything.
        try? LogError.wrapping { () throws(FileError) in
            let exists = try fileSystem.exists(folder.reserve)
            let file = try fileSystem.open(folder.reserve, exists ? .readWrite : .create)
            try file.allocate(to: neededByteCount)
            // A compaction that took the reserve meanwhile would lack the newly reserved space.
            if isUsingReserve.load(ordering: .relaxed) { try fileSystem.remove(folder.reserve) }
        }
    }

    /// Frees the reserved space for a compaction; `false` if there is none.
    ///
    /// Until ``restoreReserve()``, commits get no new segments, so that they do not take the space.
    package func useReserve() throws(LogError) -> Bool {
        try whileOpen { () throws(LogError) in
            let fileSystem = environment.fileSystem
            return try LogError.wrapping { () throws(FileError) in
                guard try fileSystem.exists(folder.reserve) else { return false }
                // Set before the space is free: otherwise a commit that needs a segment could take
                // the space.
                isUsingReserve.store(true, ordering: .relaxed)
                do throws(FileError) {
                    try fileSystem.remove(folder.reserve)
                } catch {
                    // The caller calls `restoreReserve` only after this has returned.
                    isUsingReserve.store(false, ordering: .relaxed)
                    throw error
                }
                return true
            }
        }
    }

    /// Ends the use of the reserved space, and reserves it again if possible.
    package func restoreReserve() {
        isUsingReserve.store(false, ordering: .relaxed)
        // `close` ends the log under the same lock, and then waits for the work in the background.
        try? whileOpen { inBackground { self.growReserve() } }
    }
}

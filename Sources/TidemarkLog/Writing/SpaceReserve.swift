// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// Room on the disk that is kept back, so that a log can still be compacted when the disk is full.
extension SegmentLog {
    /// What a compaction of the finished segments needs at most at one time: the longest segment that
    /// it would write, the short one that its first entry begins, their dictionaries, and what the
    /// manifest grows by.
    private var neededByteCount: UInt64 {
        let finished = manifest.manifest.segments.reduce(0) { $0 + ($1.fileByteCount ?? 0) }
        if finished == 0 { return 0 }
        let segment = UInt64(configuration.segmentByteCount)
        let besides = 2 * Layout.dictionaryByteCount + Layout.manifestByteCount
        return min(finished, segment) + min(UInt64(Layout.smallestSegmentByteCount), segment)
            + UInt64(besides)
    }

    /// Takes as much room as a compaction would need now, unless one uses it or there is none left.
    ///
    /// Only in the background, which closing waits for.
    func growReserve() {
        guard !isUsingReserve.load(ordering: .relaxed) else { return }
        let fileSystem = environment.fileSystem
        // Without it a full disk cannot be compacted; that is no reason to refuse anything.
        try? LogError.wrapping { () throws(FileError) in
            let exists = try fileSystem.exists(folder.reserve)
            let file = try fileSystem.open(folder.reserve, exists ? .readWrite : .create)
            try file.allocate(to: neededByteCount)
            // A compaction that took it meanwhile would miss what was taken anew.
            if isUsingReserve.load(ordering: .relaxed) { try fileSystem.remove(folder.reserve) }
        }
    }

    /// Gives the room that is kept back to a compaction; `false` if there is none.
    ///
    /// Until ``restoreReserve()``, commits get no new segments, so that they do not take it.
    package func useReserve() throws(LogError) -> Bool {
        try whileOpen { () throws(LogError) in
            let fileSystem = environment.fileSystem
            return try LogError.wrapping { () throws(FileError) in
                guard try fileSystem.exists(folder.reserve) else { return false }
                isUsingReserve.store(true, ordering: .relaxed)
                try fileSystem.remove(folder.reserve)
                return true
            }
        }
    }

    /// Ends the use of the room that was kept back, and takes as much again if it is there.
    package func restoreReserve() {
        isUsingReserve.store(false, ordering: .relaxed)
        inBackground { self.growReserve() }
    }
}

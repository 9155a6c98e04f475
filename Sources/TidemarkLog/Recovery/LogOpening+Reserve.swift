// Tidemark
// SPDX-License-Identifier: Apache-2.0

extension LogOpening {
    /// Opens the log, if the disk is full with a part of the reserved space.
    ///
    /// A store must be open before it can be compacted. The open takes no more of the reserve than
    /// it needs.
    func openUsingReserve(creating: Bool) throws(LogError) -> OpenedLog {
        while true {
            do throws(LogError) {
                return try open(creating: creating)
            } catch {
                // The failed attempt has released the lock, and the next one recovers from what it
                // left.
                guard error.code == .full,
                    (try? halveReserve()) == true || (try? removeQueryIndex()) == true
                else { throw error }
            }
        }
    }

    /// Removes the query index in the store's folder, which can be computed again; `false` if there is
    /// none.
    private func removeQueryIndex() throws(FileError) -> Bool {
        let fileSystem = environment.fileSystem
        guard try fileSystem.exists(folder.queries) else { return false }
        let names = try fileSystem.list(folder.queries)
            .filter { $0.hasPrefix(StoreFolder.queryIndexName) }
        for name in names { try fileSystem.remove(folder.queries + "/" + name) }
        return !names.isEmpty
    }

    /// Frees half of the reserved space, or the rest if little is left; `false` if none was left.
    private func halveReserve() throws(FileError) -> Bool {
        let fileSystem = environment.fileSystem
        guard let status = try fileSystem.status(of: folder.reserve) else { return false }
        let least = min(Layout.smallestSegmentByteCount, configuration.segmentByteCount)
        if status.byteCount < UInt64(least) {
            try fileSystem.remove(folder.reserve)
        } else {
            do throws(FileError) {
                try fileSystem.open(folder.reserve, .readWrite).truncate(to: status.byteCount / 2)
            } catch {
                // A full disk may allow a removal but not a truncation.
                try fileSystem.remove(folder.reserve)
            }
        }
        return true
    }
}

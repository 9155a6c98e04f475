// Tidemark
// SPDX-License-Identifier: Apache-2.0

extension LogOpening {
    /// Opens the log; on a full disk with some of the room that is kept back, since who compacts a store
    /// has to open it first, and no more of it than that takes.
    func openUsingReserve(creating: Bool) throws(LogError) -> OpenedLog {
        while true {
            do throws(LogError) {
                return try open(creating: creating)
            } catch {
                guard error.code == .full, (try? halveReserve()) == true else { throw error }
            }
        }
    }

    /// Gives back half of the room that is kept, or what is left where that is little; `false` if
    /// nothing was left.
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
                // A full disk may take a removal and no truncation.
                try fileSystem.remove(folder.reserve)
            }
        }
        return true
    }
}

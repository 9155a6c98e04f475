// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLock

/// Closing the environment of an index that nobody uses.
///
/// An environment has three descriptors, and 3 MB of lists for write transactions.
extension LMDBViewIndex {
    /// The way back to an environment that was closed.
    struct Parked {
        let folder: LMDBOpenFolders.Folder
        /// Returns the path that leads to the folder now.
        let place: @Sendable () -> String?

        /// Gives the folder free for other writers.
        func end() {
            LMDBOpenFolders.endParking(in: folder)
        }
    }

    package func park(reopeningAt place: @escaping @Sendable () -> String?) -> Bool {
        guard access == .writing else { return false }
        return progress.withLock { progress in
            if progress.environment == nil { return true }
            defer { progress.isUsed = false }
            guard !progress.isUsed, !progress.isReplaced else { return false }
            progress.kept = nil
            // Every snapshot and every call has a reference, and gets it under this lock. Without
            // another reference, all transactions have ended.
            guard isKnownUniquelyReferenced(&progress.environment),
                let folder = progress.environment?.park()
            else { return false }
            progress.parked = Parked(folder: folder, place: place)
            progress.environment = nil
            return true
        }
    }

    /// Closes the environment of a reader, so that the next use maps the whole file; returns false if
    /// a snapshot uses the environment.
    ///
    /// LMDB can also map a longer file in place, under the same condition. If that fails, the
    /// environment is lost.
    func closeOutgrown() -> Bool {
        guard access == .readingLive else { return false }
        return progress.withLock { progress in
            guard isKnownUniquelyReferenced(&progress.environment) else { return false }
            progress.environment = nil
            return true
        }
    }

    /// Returns the environment, open, and the state of the last commit of this process.
    func use() throws(ViewIndexError) -> (environment: LMDBEnvironment, newest: ViewState?) {
        typealias Used = (environment: LMDBEnvironment, newest: ViewState?)
        return try progress.withLock { (progress) throws(ViewIndexError) -> Used in
            progress.isUsed = true
            if let environment = progress.environment { return (environment, progress.state) }
            let environment = try reopen(progress.parked, at: progress.state)
            progress.environment = environment
            progress.parked = nil
            return (environment, progress.state)
        }
    }

    /// Opens the environment of a reader, or a parked one, which must be as it was left.
    ///
    /// Its pages are not verified again: nobody else may have written to them.
    private func reopen(
        _ parked: Parked?,
        at expected: ViewState?
    ) throws(ViewIndexError) -> LMDBEnvironment {
        if access == .readingLive { return try Self.openBesideWriter(path, store) }
        guard let parked, let path = parked.place() else {
            throw ViewIndexError(
                .system,
                "The folder of the view index cannot be found. Close the store and open it again."
            )
        }
        let environment = try LMDBEnvironment(path, returningTo: parked.folder)
        guard try environment.readNewestState() == expected else { throw .replaced(path) }
        // Only now: until then, no other environment of the folder may be open for reading only.
        parked.end()
        return environment
    }
}

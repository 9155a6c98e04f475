// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLog

/// The files of an open store that are open only for their next use.
///
/// It is an object of its own because the sweep refers to it weakly. Each call retains the parts of the
/// store, and retaining an object that is referred to weakly takes several times as long.
final class StoreParking: Parkable {
    private let reader: Reader
    private let writer: WriteAccess
    private let indexes: StoreQueries?

    init(_ reader: Reader, _ writer: WriteAccess, _ indexes: StoreQueries?) {
        self.reader = reader
        self.writer = writer
        self.indexes = indexes
    }

    /// Closes all files but the folder, the lock, the manifest and the segment that takes events, and
    /// takes what is in memory into the views.
    func park(_ sweep: IdleSweep) -> Bool {
        // The folder may be moved before the views are opened again.
        guard let writer = writer.ifAny, writer.log.viewsPath != nil else { return false }
        let log = writer.log
        // Without references to the store, whose part the index is.
        let isParked = reader.views.index.park { [weak self, weak log] in
            if let self { sweep.watch(self) }
            return log?.viewsPath
        }
        guard isParked else { return false }
        log.closeFinishedSegments()
        reader.journal?.journal.park()
        indexes?.park()
        // This opens the views again, and a later sweep finds nothing to take in.
        writer.checkpointer.rest(reader.views)
        return true
    }
}

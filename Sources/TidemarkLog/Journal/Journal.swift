// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import TidemarkLock

/// The limits of a journal: the size and age of its entries, and the bytes that wait in memory.
package struct JournalConfiguration: Hashable, Sendable {
    /// The approximate size of the journal in bytes; beyond it, the oldest eighth is removed.
    package var byteCount = 64 << 20
    /// The maximum age of entries in milliseconds; older ones are removed at most an eighth of this
    /// time later.
    package var lifetime: Int64 = 30 * 24 * 60 * 60 * 1000
    /// The maximum number of bytes waiting to be written; entries beyond it are lost, and counted.
    package var waitingByteCount = 4 << 20

    package init() {}
}

/// The counts of a journal since it was opened.
package struct JournalFigures: Hashable, Sendable {
    /// The number of entries that were written.
    package var entryCount: UInt64 = 0
    /// The number of entries that could not be written.
    package var lostCount: UInt64 = 0
    /// The last failure to write, or to remove an old segment; `nil` if the last entry was lost because
    /// the waiting bytes reached their limit.
    package var failure: FileError?
}

/// The requests and results of a store, in segments next to the log; the oldest entries are removed
/// by size and by age.
///
/// Entries are opaque bytes. No caller waits for the journal: an entry is in memory when
/// ``append(_:at:)`` returns, in the file soon after, and never synced for a result. A crash of the
/// machine may lose the newest entries. If the disk fails, no call but ``removeEntries(where:)``
/// throws; entries that could not be written are counted.
package final class Journal: Sendable {
    private struct Waiting {
        /// Entries without checksums.
        var bytes: [UInt8] = []
        /// The number of entries that had no room since the last one that had.
        var lostCount: UInt32 = 0
        /// True if a write is scheduled, now or after the delay.
        var isScheduled = false
        /// True if a write is scheduled without delay, because a batch is full.
        var isDue = false
        var isClosed = false
        var figures = JournalFigures()
    }

    private let waiting = Lock(Waiting())
    /// Held during calls to the file system, so that only one operation uses the files at a time.
    private let files: Lock<JournalFiles>
    private let configuration: JournalConfiguration
    private let writesInline: Bool
    private let queue = DispatchQueue(label: "tidemark.journal", qos: .utility)
    /// The time that entries wait to form a batch, in milliseconds.
    private static let delay = 100
    /// The number of bytes that are written without delay.
    private static let batchByteCount = 64 << 10

    /// Creates the journal of a store in a folder; no file is accessed before the first write.
    package init(
        _ folder: StoreFolder,
        of store: StoreID,
        _ incarnation: Incarnation,
        _ configuration: JournalConfiguration,
        _ environment: LogEnvironment
    ) {
        self.configuration = configuration
        writesInline = environment.writesInline
        files = Lock(JournalFiles(folder, store, incarnation, configuration, environment))
    }

    /// The counts since the journal was opened.
    package var figures: JournalFigures { waiting.withLock { $0.figures } }

    /// Adds an entry; `time` is in milliseconds since 1970.
    package func append(_ content: [UInt8], at time: Int64) {
        let isDue = waiting.withLock { waiting in
            if waiting.isClosed { return false }
            let byteCount = waiting.bytes.count + JournalEntries.headByteCount + content.count
            guard content.count <= JournalEntries.contentByteCountLimit,
                byteCount <= configuration.waitingByteCount
            else {
                waiting.lostCount += 1
                waiting.figures.lostCount += 1
                return false
            }
            JournalEntries.append(
                content,
                at: time,
                lost: waiting.lostCount,
                to: &waiting.bytes
            )
            waiting.lostCount = 0
            let isFull = waiting.bytes.count >= Self.batchByteCount
            if writesInline { return isFull }
            if isFull {
                // Once for each batch: a burst of entries would otherwise schedule a write for each
                // entry until the first of these writes begins.
                if !waiting.isDue { queue.async { [weak self] in self?.flush() } }
                waiting.isDue = true
                waiting.isScheduled = true
            } else if !waiting.isScheduled {
                waiting.isScheduled = true
                queue.asyncAfter(deadline: .now() + .milliseconds(Self.delay)) { [weak self] in
                    self?.flush()
                }
            }
            return false
        }
        if isDue { flush() }
    }

    /// Writes all added entries, so that readers of the files see them; does not sync.
    package func flush() {
        files.withLock { files in write(to: &files) }
    }

    /// Writes all added entries, and closes the file until the next entry.
    package func park() {
        files.withLock { files in
            // Otherwise the write that they have scheduled would open the file again.
            write(to: &files)
            files.park()
        }
    }

    /// Writes and syncs all added entries, and accepts no more.
    package func close() {
        waiting.withLock { $0.isClosed = true }
        files.withLock { files in
            write(to: &files)
            files.end()
        }
    }

    /// Removes entries permanently, and all bytes in damaged places; returns the number of removed
    /// entries.
    ///
    /// Rewrites the segments that hold such entries, one at a time; the removal is durable when
    /// this returns. After an error, some entries may remain, and the call can be repeated.
    package func removeEntries(
        where isUnwanted: (RawSpan) -> Bool
    ) throws(FileError) -> Int {
        try files.withLock { files throws(FileError) in
            write(to: &files)
            return try files.rewrite(without: isUnwanted)
        }
    }

    private func write(to files: inout JournalFiles) {
        var bytes = waiting.withLock { waiting in
            defer { waiting.bytes = [] }
            // Reset together with taking the bytes: an entry that is added later schedules its own
            // write.
            waiting.isScheduled = false
            waiting.isDue = false
            return waiting.bytes
        }
        if bytes.isEmpty { return }
        // Without the lock of `waiting`, so that an append does not wait for the disk. `files` is
        // always taken before `waiting`.
        let outcome = files.write(&bytes)
        waiting.withLock { waiting in
            waiting.figures.entryCount += UInt64(outcome.writtenCount)
            waiting.figures.lostCount += UInt64(outcome.lostCount)
            if let failure = outcome.failure { waiting.figures.failure = failure }
        }
    }
}

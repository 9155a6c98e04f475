// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import TidemarkLock

/// How long a journal keeps what, and how much of it waits in memory.
package struct JournalConfiguration: Hashable, Sendable {
    /// About so many bytes are kept; then the oldest eighth goes.
    package var byteCount = 64 << 20
    /// Entries that are older go, an eighth of this later at most; milliseconds.
    package var lifetime: Int64 = 30 * 24 * 60 * 60 * 1000
    /// At most so many bytes wait to be written; entries beyond that are lost, and counted.
    package var waitingByteCount = 4 << 20

    package init() {}
}

/// What a journal has taken in since it was opened.
package struct JournalFigures: Hashable, Sendable {
    /// Entries that were written.
    package var entryCount: UInt64 = 0
    /// Entries that could not be written.
    package var lostCount: UInt64 = 0
    /// Why, the last time; `nil` if that was for want of room in memory.
    package var failure: FileError?
}

/// What was asked and answered, in segments beside the log: entries of bytes that it does not look
/// into, the oldest of which go by size and by age.
///
/// Nobody waits for it. An entry is in memory when ``append(_:at:)`` returns, in the file soon after, and
/// never synced for an answer: a crash of the machine may take the newest ones. Whatever the disk does, no
/// call but ``removeEntries(where:)`` fails; what could not be written is counted.
package final class Journal: Sendable {
    private struct Waiting {
        /// Entries without checksums.
        var bytes: [UInt8] = []
        /// Entries that had no room since the last one that had.
        var lostCount: UInt32 = 0
        var isScheduled = false
        var isClosed = false
        var figures = JournalFigures()
    }

    private let waiting = Lock(Waiting())
    /// Held over calls to the file system: one thing at a time happens to the files.
    private let files: Lock<JournalFiles>
    private let configuration: JournalConfiguration
    private let writesInline: Bool
    private let queue = DispatchQueue(label: "tidemark.journal", qos: .utility)
    /// How long entries wait for others, in milliseconds.
    private static let delay = 100
    /// So many bytes do not wait.
    private static let batchByteCount = 64 << 10

    /// The journal of a store in a folder; touches no file before there is something to write.
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

    /// What was taken in since it was opened.
    package var figures: JournalFigures { waiting.withLock { $0.figures } }

    /// Takes an entry in; `time` is in milliseconds since 1970.
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
            if isFull || !waiting.isScheduled {
                waiting.isScheduled = true
                let delay = isFull ? 0 : Self.delay
                queue.asyncAfter(deadline: .now() + .milliseconds(delay)) { [weak self] in
                    self?.flush()
                }
            }
            return false
        }
        if isDue { flush() }
    }

    /// Writes what was taken in, so that those who read the files see it; does not sync.
    package func flush() {
        files.withLock { files in write(to: &files) }
    }

    /// Writes and syncs what was taken in, and takes in no more.
    package func close() {
        waiting.withLock { $0.isClosed = true }
        files.withLock { files in
            write(to: &files)
            files.end()
        }
    }

    /// Removes entries for good, and whatever lies in damaged places; returns how many entries.
    ///
    /// Rewrites the segments that hold some, one at a time; durable when it returns. Throws what kept it
    /// from that: then some may be there still, and it can be repeated.
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
            waiting.isScheduled = false
            return waiting.bytes
        }
        if bytes.isEmpty { return }
        let outcome = files.write(&bytes)
        waiting.withLock { waiting in
            waiting.figures.entryCount += UInt64(outcome.writtenCount)
            waiting.figures.lostCount += UInt64(outcome.lostCount)
            if let failure = outcome.failure { waiting.figures.failure = failure }
        }
    }
}

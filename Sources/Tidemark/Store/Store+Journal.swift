// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
package import TidemarkLog
import TidemarkModel

/// The state of a store's journal.
public struct JournalStanding: Hashable, Codable, Sendable {
    /// Segments on disk.
    public var segmentCount = 0
    /// Their bytes.
    public var byteCount: UInt64 = 0
    /// Sound entries in them.
    public var entryCount = 0
    /// Entries that are missing because they could not be written.
    public var lostCount: UInt64 = 0
    /// The damage found on disk, which was skipped.
    public var damage: [LogError] = []
    /// The reason why this process could not write entries, the last time; `nil` if it always could.
    public var failure: FileError?

    /// Nothing.
    package init() {}
}

extension Store {
    /// Visits the entries of the journal, oldest first, and returns the state of the journal.
    ///
    /// This works whether or not a process writes the store. Entries that another process added
    /// within the last moment may be missing. Damaged entries are skipped and reported. The cost is
    /// one read of the journal.
    @discardableResult
    public func visitJournal(
        _ visit: (JournalEntry) -> Void = { _ in }
    ) throws(SyncError) -> JournalStanding {
        let parts = try parts
        let open = parts.reader.journal?.journal
        // The reader sees files only, so pending entries are written first.
        open?.flush()
        var standing = JournalStanding(reading: parts.reader.journalReader, visit)
        if let figures = open?.figures {
            // The open journal may know of losses that no entry in the files states yet.
            standing.lostCount = max(standing.lostCount, figures.lostCount)
            standing.failure = figures.failure
        }
        return standing
    }
}

extension JournalStanding {
    /// Reads the journal of a store in a folder of the machine.
    package init(of path: String, _ store: StoreID) {
        self.init(reading: JournalReader(StoreFolder(path), of: store, PosixFileSystem()))
    }

    /// Reads a journal whole.
    package init(reading journal: JournalReader, _ visit: (JournalEntry) -> Void = { _ in }) {
        var journal = journal
        var unknownCount = 0
        journal.read { (time, lostCount, bytes) in
            do throws(EventFormatError) {
                let content = try JournalEntry.Content(bytes)
                visit(JournalEntry(time: time, lostCount: Int(lostCount), content))
            } catch {
                unknownCount += 1
            }
        }
        segmentCount = journal.segmentCount
        byteCount = journal.byteCount
        entryCount = journal.entryCount
        lostCount = journal.lostCount
        damage = journal.damage
        if unknownCount > 0 {
            damage.append(
                LogError(
                    .newerVersion,
                    "\(unknownCount) entries of the journal have a form that this program does not "
                        + "know; they were skipped."
                )
            )
        }
    }
}

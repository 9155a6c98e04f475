// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLock
import TidemarkLog

/// The journal of a store that is open for writing.
///
/// If only rejections are recorded, no file is created before the first one.
final class OpenJournal: Sendable {
    /// The kinds of entries that the journal records.
    let extent: StoreOptions.Journal
    let journal: Journal
    private let now: @Sendable () -> Int64
    /// True once the journal has recorded its beginning.
    private let hasBegun = Lock(false)

    init(
        _ folder: StoreFolder,
        of store: StoreID,
        _ incarnation: Incarnation,
        _ options: StoreOptions,
        _ environment: LogEnvironment
    ) {
        extent = options.journal
        now = environment.now
        var configuration = JournalConfiguration()
        configuration.byteCount = max(options.journalByteCount, 0)
        configuration.lifetime = max(options.journalLifetime, 0)
        journal = Journal(folder, of: store, incarnation, configuration, environment)
        // The entry tells later readers when the journal recorded the pages sent to devices, and
        // when it did not.
        let isThere = try? environment.fileSystem.exists(folder.journal)
        if extent == .full || isThere ?? false { begin() }
    }

    private func begin() {
        hasBegun.withLock { hasBegun in
            if hasBegun { return }
            hasBegun = true
            // Under the lock, so that no entry precedes this one.
            journal.append(JournalEntry.Content.began(extent).bytes, at: now())
        }
    }

    /// Adds an entry.
    func note(_ content: JournalEntry.Content) {
        begin()
        journal.append(content.bytes, at: now())
    }

    /// Writes the pending entries, and accepts no more.
    func close() {
        let hasBegun = hasBegun.withLock { hasBegun in
            // A late entry must not begin the journal again.
            defer { hasBegun = true }
            return hasBegun
        }
        if hasBegun { journal.append(JournalEntry.Content.ended.bytes, at: now()) }
        journal.close()
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
package import TidemarkLog
import TidemarkViews

/// Folds the log while it is read, and compares the views on disk with the result.
///
/// The views are exact at their checkpoint, so events after it are left out.
package struct ViewsCheck {
    private let reader: LogReader
    private let path: String
    /// The views as they were when the check began; `nil` if there are none that can be compared.
    private var found: (any ViewSnapshot)?
    /// The position at which the views on disk are exact.
    package private(set) var checkpoint = SequenceNumber.zero
    /// The views that the log implies, once the comparison is done.
    package private(set) var expected: ReplayedViews?
    private var damage: [LogError] = []
    /// The outcome of the comparison.
    package private(set) var outcome = Outcome.noViews
    private var folded: FoldedViews

    package typealias Outcome = StoreVerification.ViewsOutcome

    /// Looks at the log and the views of a store, again if a writer moved on meanwhile.
    package static func begin(
        at store: String
    ) throws(LogError) -> (reader: LogReader, check: ViewsCheck) {
        // A writer that starts or moves the views makes one look inconsistent. The limit ends the
        // attempts if other processes open the store again and again.
        for _ in 0..<lookLimit {
            let reader = try LogReader(store, fileSystem: PosixFileSystem())
            let check = try ViewsCheck(reader)
            if check.outcome != .changing { return (reader, check) }
        }
        let reader = try LogReader(store, fileSystem: PosixFileSystem())
        return (reader, try ViewsCheck(reader))
    }

    private static let lookLimit = 20

    /// Reads the views of a store; missing views need no check.
    private init(_ reader: LogReader) throws(LogError) {
        self.reader = reader
        path = reader.viewsPath
        folded = FoldedViews(reader)
        let files = PosixFileSystem()
        // Readers without locks do not open it, and every writer must.
        if (try? files.list("\(path)/lock.mdb")) != nil {
            outcome = .unreadable
            damage.append(finding("lock.mdb is a folder, where a file is expected."))
            return
        }
        do throws(LogError) {
            let exists = try LogError.wrapping { () throws(FileError) in
                try files.exists("\(path)/data.mdb")
            }
            guard exists else { return }
        } catch {
            outcome = .unreadable
            damage.append(error)
            return
        }
        // The checks are made last and removed first.
        guard (try? files.exists("\(path)/checks")) == true else {
            outcome = .unfinished
            return
        }
        do throws(ViewIndexError) {
            let index = try LMDBViewIndex.open(
                path,
                access: reader.isLive ? .readingLive : .readingStill,
                store: reader.store
            )
            let snapshot = try index.snapshot()
            guard let checkpoint = snapshot.checkpoint else { return }
            try begin(snapshot, checkpoint)
        } catch {
            outcome = error.reason == .unseen ? .unseen : .unreadable
            if outcome == .unreadable { damage.append(finding(error.message)) }
        }
        // A writer does not know of a snapshot that was taken without a lock after the writer
        // started. While there is a writer, views that cannot be opened may be in the process of
        // being moved.
        let isChanging: Bool
        if !reader.isLive {
            isChanging = try reader.isOvertaken()
        } else {
            isChanging = outcome == .unreadable ? try reader.hasMoved() : false
        }
        if isChanging {
            outcome = .changing
            damage = []
            found = nil
        }
    }

    private mutating func begin(
        _ snapshot: any ViewSnapshot,
        _ checkpoint: ViewCheckpoint
    ) throws(ViewIndexError) {
        if checkpoint.store == reader.store, checkpoint.sequence > reader.durableSequence {
            // A writer acknowledges what it has written only when it is idle.
            if reader.isLive {
                outcome = .ahead
            } else {
                // The views are the proof that events are missing. So they are not to be deleted.
                outcome = .logDamaged
                damage.append(
                    .lostEnd(
                        after: reader.durableSequence,
                        viewsAt: checkpoint.sequence,
                        path: reader.segmentsPath
                    )
                )
            }
            return
        }
        guard reader.line.contains(checkpoint.sequence, of: checkpoint.incarnation) else {
            throw ViewIndexError(
                .damaged,
                "The views belong to another history of the store: incarnation "
                    + "\(checkpoint.incarnation.text) up to event \(checkpoint.sequence)."
            )
        }
        found = snapshot
        outcome = .compared
        self.checkpoint = checkpoint.sequence
    }

    /// True if there are views to compare with the fold of the log.
    package var isComparing: Bool { found != nil }

    /// Takes in the next event of the log; checks the record that it holds, if it holds one.
    package mutating func add(_ event: LogEvent) throws(FoldedViews.Failure) {
        do throws(EventFormatError) {
            try RecordEvent.checkBody(of: event)
        } catch {
            throw .event(error)
        }
        // Folding costs memory in proportion to the records, so it is left out if there is nothing
        // to compare.
        guard found != nil, event.sequence <= checkpoint else { return }
        try folded.add(event)
    }

    /// Returns the damage of the views, once all events have been read.
    ///
    /// Compares nothing if events are missing from the log.
    package mutating func finish(isLogSound: Bool) throws(FoldedViews.Failure) -> [LogError] {
        guard let found else { return damage }
        guard isLogSound else {
            outcome = .logDamaged
            return []
        }
        let replayed = try folded.finish(beside: found)
        expected = replayed
        do throws(ViewIndexError) {
            // Digests, so that two tables are compared without holding the entries of both.
            for table in ViewTable.allCases {
                let (present, right) = (try found.digest(table), try replayed.views.digest(table))
                guard present != right else { continue }
                damage.append(
                    finding(
                        "The table of \(table) has \(present.count) entries; folding the log up to "
                            + "event \(checkpoint) gives \(right.count)"
                            + (present.count == right.count ? " others." : ".")
                    )
                )
            }
        } catch {
            damage.append(finding(error.message))
        }
        return damage
    }

    private func finding(_ message: String) -> LogError {
        let remedy =
            reader.isLive
            ? "a process has the store open; close it there and verify again."
            : "delete the folder, and the next open for writing rebuilds them."
        return LogError(
            .corrupted,
            "\(message) Views are computed from the log: \(remedy)",
            path: path
        )
    }
}

extension StoreVerification.ViewsOutcome {
    /// A note about a comparison that was not made, for people.
    package var note: String? {
        switch self {
        case .noViews, .compared, .unreadable: nil
        case .unfinished:
            "The views were not compared: they are incomplete, because their build was interrupted "
                + "or is still running. The next open for writing rebuilds them."
        case .ahead:
            "The views were not compared: their checkpoint is ahead of what the writer has "
                + "confirmed in the log so far. Verify again when the writer is idle."
        case .changing:
            "The views were not compared: other processes kept opening the store. Verify again."
        case .unseen:
            "The views were not compared: a process has the store open and could not see that this one "
                + "reads them, because their folder cannot be written from here."
        case .logDamaged:
            "The views were not compared: the log that they are computed from is damaged."
        }
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
public import TidemarkLog

/// The result of a check of every byte of a store.
public struct StoreVerification: Hashable, Codable, Sendable {
    /// The defects, each with its file and the place in it; empty for a sound store.
    public internal(set) var findings: [LogError] = []
    /// Segments of the log that were read.
    public internal(set) var segmentCount = 0
    /// Commits in them.
    public internal(set) var commitCount: UInt64 = 0
    /// Events in them.
    public internal(set) var eventCount: UInt64 = 0
    /// Bytes of a write that was cut short before it was acknowledged: no damage.
    public internal(set) var tornByteCount: UInt64 = 0
    /// Assets that the log names; the bytes of all of them were read.
    public internal(set) var assetCount = 0
    /// The journal.
    public internal(set) var journal = JournalStanding()
    /// The comparison of the views on disk with the log, or why there was none.
    public internal(set) var views = ViewsOutcome.noViews
    /// True if an erasure was cut off, and waits for the next opening for writing.
    public internal(set) var hasPendingErasure = false

    /// The outcome of a comparison of the views with the log.
    public enum ViewsOutcome: String, Hashable, Codable, Sendable {
        /// There are none to compare.
        case noViews
        /// The process that made the views was interrupted, or has not finished.
        case unfinished
        /// They were compared.
        case compared
        /// They cannot be read; the findings state why.
        case unreadable
        /// A writer has put more into them than it has acknowledged in the log.
        case ahead
        /// Writers kept appearing while they were being opened.
        case changing
        /// A process has the store open, which would not see that this one reads the views.
        case unseen
        /// The log is damaged, so the fold lacks events and decides nothing about the views.
        case logDamaged
    }
}

extension Store {
    /// Reads all of a store and verifies it: every checksum, every record, that all parts agree,
    /// the views against the log, the bytes of all assets that the log names, and the journal.
    ///
    /// The store may be open, here or in another process. It is ``LongWork`` of several steps:
    /// segments, then assets. Blocks on disk I/O. O(bytes of the store).
    ///
    /// Throws if the check cannot be made: `notAStore`, `newerVersion`, `unreadable`, `cancelled`.
    /// Damage is a finding, not an error.
    public static func verify(at path: String) throws(LogError) -> StoreVerification {
        try LongWork.run { () throws(LogError) in try verifyNow(at: path) }
    }

    private static func verifyNow(at path: String) throws(LogError) -> StoreVerification {
        let (reader, begun) = try ViewsCheck.begin(at: path)
        var check = begun
        var assets = BlobCheck(of: StoreFolder(path), PosixFileSystem())
        var failure: FoldedViews.Failure?
        let log = try reader.verify { event in
            // The first error ends the fold, not the reading: `verify` still checks the checksums
            // of the rest.
            guard failure == nil else { return }
            do throws(FoldedViews.Failure) {
                try check.add(event)
                do throws(EventFormatError) {
                    try assets.add(event)
                } catch {
                    throw .event(error)
                }
            } catch {
                failure = error
            }
        }
        var result = StoreVerification()
        result.findings = log.damage
        switch failure {
        case .event(let error)?: result.findings.append(LogError(.corrupted, error.message))
        case .views(let message)?:
            // If parts of the log are missing, the rest is inconsistent, so report the missing
            // parts instead.
            if log.damage.isEmpty { result.findings.append(LogError(.corrupted, message)) }
        case nil: break
        }
        // These findings are added only after `check.finish`. A damaged asset does not make the log
        // unfit for the comparison.
        let damagedAssets = try assets.finish()
        // With any finding in the log, a comparison of the views would report the same loss once
        // more.
        do throws(FoldedViews.Failure) {
            result.findings += try check.finish(isLogSound: result.findings.isEmpty)
        } catch {
            switch error {
            case .event(let error): result.findings.append(LogError(.corrupted, error.message))
            case .views(let message): result.findings.append(LogError(.corrupted, message))
            }
        }
        result.findings += damagedAssets
        result.views = check.outcome
        result.segmentCount = log.segmentCount
        result.commitCount = log.commitCount
        result.eventCount = log.eventCount
        result.tornByteCount = log.tornByteCount
        result.assetCount = assets.count
        result.journal = JournalStanding(of: path, reader.store)
        result.findings += result.journal.damage
        do throws(LogError) {
            result.hasPendingErasure = try pendingErasure(at: path) != nil
        } catch {
            result.findings.append(error)
        }
        return result
    }
}

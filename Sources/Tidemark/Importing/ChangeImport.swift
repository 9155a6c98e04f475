// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
public import TidemarkModel
import TidemarkRules
import TidemarkViews

extension Store {
    /// Begins an import of a change stream, with an operator's authority.
    ///
    /// Limits of requests and permissions do not apply, those of records do. Throws for a store that
    /// is closed or open for reading.
    public func beginImport() throws(SyncError) -> ChangeImport {
        try ChangeImport(parts)
    }
}

/// An import of a change stream: each line is one atomic commit, across zones, whatever its size.
///
/// Lines are appended one after another without waiting for the disk, which syncs many of them at
/// once; ``finish()`` waits for all. Lines that the store already has are skipped. A line is
/// identified by its request id, or else by its content and the number of earlier occurrences of
/// that content in this import. Such ids never expire, so repeating an import duplicates nothing.
///
/// The import holds a 64-bit hash in memory for each line without a request id.
public struct ChangeImport: Sendable {
    /// The outcome of one line.
    public enum Outcome: Hashable, Sendable {
        /// The line is part of the store now.
        case applied(missingDeletionCount: Int)
        /// The line was in the store already.
        case skipped
    }

    /// A share that was imported without its root, which no line has supplied yet.
    ///
    /// The share shows nothing to participants until a line supplies the root, in this import or a
    /// later one.
    public struct WaitingShare: Hashable, Sendable {
        /// The database that holds the share.
        public var database: DatabaseID
        /// The record of the share.
        public var share: RecordID
        /// The name of the record that it is to show, with all below.
        public var root: String
    }

    private let writer: Writer
    private let notifications: Notifications
    /// The number of earlier occurrences of a line's content in this import, by its hash.
    private var occurrences: [UInt64: UInt32] = [:]
    private var waiting = WaitingShares()
    private var lastAppended = SequenceNumber.zero
    /// Bytes that were appended since the disk was last waited for.
    private var appendedByteCount = 0

    /// Lines are appended this far ahead of the disk.
    private static let leadByteCount = 8 << 20

    init(_ parts: OpenStore) throws(SyncError) {
        writer = try parts.writer()
        notifications = parts.notifications
    }

    /// Adds one line.
    ///
    /// The line is durable when a later ``finish()`` returns, and may be durable earlier. A line
    /// whose time is before the last commit's gets that commit's time.
    ///
    /// Throws if a line is not valid: then no part of it is applied, and all earlier lines are
    /// kept.
    public mutating func add(_ line: ChangeStreamLine) async throws(SyncError) -> Outcome {
        let known = LineIdentity(line)
        let request = request(of: line, known)
        try await writer.committer.waitForRoom()
        try waiting.consult(line.database, in: writer.reader)
        while true {
            let picture = try writer.reader.picture(.appended)
            if let first = try await commit(of: line, as: request, in: picture) {
                // The earlier commit may not be durable yet, and `finish` promises that this line
                // is.
                lastAppended = max(lastAppended, first)
                count(line, known)
                return .skipped
            }
            var decision = try decision(of: line, over: picture)
            let outcome = Outcome.applied(missingDeletionCount: decision.missingDeletionCount)
            // A line that changes nothing needs a commit too. Otherwise importing it again could
            // find something to delete (events.md, "Request noted").
            if decision.plan.eventCount == 0 { decision.plan.noteRequest() }
            decision.seal(line, request)
            guard
                let placed = try await writer.append(
                    &decision.plan,
                    over: picture,
                    isLimited: false
                )
            else { continue }
            lastAppended = placed.last
            // Only a line that is in the store counts. A line that failed may come again as the
            // same occurrence.
            count(line, known)
            decision.note(in: &waiting)
            if decision.changes(.subscriptions) {
                try await notifications.notifier().imported(placed.first, placed.last)
            }
            if decision.changes(.users) { tellOfAccounts(placed.last) }
            try await stayClose(to: placed)
            return outcome
        }
    }

    /// Waits until every line that was taken is on disk.
    public mutating func finish() async throws(SyncError) {
        try await writer.committer.waitUntilDurable(lastAppended)
    }

    /// Shares whose roots are not there, as of the last ``finish()``.
    ///
    /// An export of a compacted store may have a share's line before its root's; at the end of such
    /// an import none is left. O(shares that waited at any time).
    public func waitingShares() throws(SyncError) -> [WaitingShare] {
        try waiting.all(in: writer.reader)
    }

    /// Notifies those that wait for account changes once the change is durable, without waiting for
    /// ``finish()``.
    private func tellOfAccounts(_ last: SequenceNumber) {
        Task { [writer] in
            try await writer.committer.waitUntilDurable(last)
            // All waiters, since it is unknown here whose accounts the line changed. Each reads its
            // own status again.
            writer.reader.accountNews.tellAll()
        }
    }

    /// Waits for the disk now and then, to bound the amount of unsynced data.
    private mutating func stayClose(to placed: Committer.Placed) async throws(SyncError) {
        appendedByteCount += placed.payloads.count
        if appendedByteCount > Self.leadByteCount {
            appendedByteCount = 0
            try await writer.committer.waitUntilDurable(placed.last)
        }
    }

    /// Counts a line that is in the store, so that the same one once more is another.
    private mutating func count(_ line: ChangeStreamLine, _ known: LineIdentity) {
        if line.requestID == nil { occurrences[Self.key(of: known), default: 0] += 1 }
    }

    private static func key(of line: LineIdentity) -> UInt64 {
        xxh3(Array(line.idStem.utf8).span.bytes, seed: 0)
    }

    /// Decides a line over a picture.
    private func decision(
        of line: ChangeStreamLine,
        over picture: ViewPicture
    ) throws(SyncError) -> ImportDecision {
        let reader = writer.reader
        var decision = try ImportDecision(
            line,
            receivedAt: reader.now(),
            by: RecordRules(
                limits: reader.options.limits,
                line: reader.line,
                scope: line.database.scope,
                isImport: true
            ),
            over: picture.facts,
            waiting
        )
        if decision.namingAssets.isEmpty { return decision }
        var assets = ConsultedAssets(takenCount: picture.takenBlobCount)
        for (database, fields) in decision.namingAssets {
            assets.add(fields, of: BlobHolder(database))
        }
        decision.plan.assets = assets
        return decision
    }

    /// The request of a line: its id is its own, or one that is derived from its content.
    private func request(
        of line: ChangeStreamLine,
        _ known: LineIdentity
    ) -> CommitEnvelope.Request {
        let id =
            line.requestID ?? known.idStem + String(occurrences[Self.key(of: known), default: 0])
        return CommitEnvelope.Request(
            id: id,
            key: writer.reader.views.hash.key(
                ofRequest: id,
                user: line.user.userRecordName,
                database: line.database
            ),
            contentHash: known.contentHash,
            isDerived: line.requestID == nil,
            neverExpires: true,
            database: line.database
        )
    }

    /// Returns the first position of the commit with a line's id, if that commit is this line's;
    /// `nil` if there is none.
    ///
    /// Throws `invalidArguments` if the commit is another line's. An exported line contains only
    /// the changes of its commit, and so may differ from the imported line.
    private func commit(
        of line: ChangeStreamLine,
        as request: CommitEnvelope.Request,
        in picture: ViewPicture
    ) async throws(SyncError) -> SequenceNumber? {
        guard let answer = try writer.firstAnswer(to: request.key, in: picture) else {
            return nil
        }
        // An id that was derived from the line belongs to this line, even if an export of its
        // changes was imported under the id before.
        if request.isDerived || answer.contentHash == request.contentHash { return answer.first }
        // The commit is read as a line from the log, which has durable events only.
        try await writer.committer.waitUntilDurable(answer.first)
        let exported = try writer.reader.line(ofCommitAt: answer.first)
        guard exported.map({ LineIdentity($0).contentHash }) == request.contentHash else {
            throw .requestIDReused(request.id)
        }
        return answer.first
    }
}

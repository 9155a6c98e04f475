// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import Tidemark
public import TidemarkLog
public import TidemarkModel

/// The reason why a device does not have a version of a record: the first broken link of the chain,
/// other known facts, and the gaps.
public struct Explanation: Codable, Sendable {
    /// The record.
    public let record: RecordID
    /// The device.
    public let device: String
    /// The user of the device; `nil` if no user is signed in.
    public internal(set) var user: UserID?
    /// The version in question; `nil` if there is none.
    public internal(set) var version: PastChange?
    /// The causes that were found: the answer first, then further facts.
    public internal(set) var causes: [Cause] = []
    /// The gaps in the data that kept more from being found.
    public internal(set) var gaps: [Gap] = []
    /// Names that the question may have meant instead.
    public internal(set) var hints: [Hint] = []

    /// A rejection, with its time and reason.
    public struct Refusal: Hashable, Codable, Sendable {
        /// The time by the store's own clock, in milliseconds since 1970.
        public var time: Int64
        /// The call and its caller.
        public var refused: JournalEntry.Refused
        /// The rejection within the call.
        public var refusal: JournalEntry.Refusal
        /// The rejection in the same call that caused this one, if this one is not the cause
        /// itself.
        public var reason: JournalEntry.Refusal?
    }

    /// A page of changes that the device was given.
    public struct Delivery: Hashable, Codable, Sendable {
        /// The time by the store's own clock, in milliseconds since 1970.
        public var time: Int64
        /// The page.
        public var told: JournalEntry.Told
    }

    /// A token that the device sent.
    public struct Acknowledgement: Hashable, Codable, Sendable {
        /// The time of arrival by the store's own clock, in milliseconds since 1970.
        public var time: Int64
        /// The token.
        public var token: ChangeToken
    }

    /// A link of the chain from a save to a device.
    ///
    /// `Docs/past.md`, "Why", has the order in which causes are named.
    public enum Cause: Codable, Sendable {
        /// No such record was ever saved, as far as the log shows.
        case neverSaved
        /// The database has no such zone, and never had one.
        ///
        /// It has `count` zones; `known` has at most ten names of them, the zone that changed last
        /// first.
        case noSuchZone(known: [String], count: Int)
        /// Saving or deleting it was rejected.
        case refused(Refusal)
        /// The device's user is not shown it.
        case hidden(RecordHiding)
        /// The device has requested changes, and was rejected.
        case fetchRefused(Refusal)
        /// It was committed after the device's last token.
        case committedAfterToken(Delivery)
        /// The device has never requested changes of the zone.
        case neverAsked
        /// It was replaced before the device's request: the device received the version at this
        /// position.
        case superseded(SequenceNumber, Delivery)
        /// The device restarted after the record was deleted, and received neither the record nor
        /// the deletion.
        case beganAfterDeletion(Delivery)
        /// The device was given it: in this page, if the journal has that still; and has come back with a
        /// token that covers it, if it has.
        case delivered(Delivery?, Acknowledgement?)
        /// The available data does not show if the device received it.
        case unknown
    }

    /// A fact that the answer needs and that is unknown.
    public enum Gap: Hashable, Codable, Sendable {
        /// There is no journal.
        case noJournal
        /// The journal reaches back to this time, in milliseconds since 1970, and no further.
        case journalBegins(Int64)
        /// Between these times the journal did not record the pages sent to devices; `nil` for now.
        case notFull(from: Int64, to: Int64?)
        /// The number of entries that could not be written.
        case entriesLost(UInt64)
        /// The number of damaged places in the journal.
        case journalDamaged(Int)
        /// The history of the record was pruned: this event and the earlier ones are no longer in
        /// the log.
        case historyPruned(through: SequenceNumber)
        /// There may have been such a record, of which compaction has left no trace.
        ///
        /// History is kept from an event on: its position and, if known, its time in milliseconds
        /// since 1970. The position is `nil` if all history is kept, and an erasure removed the
        /// traces.
        case noTrace(historyBegins: SequenceNumber?, time: Int64?)
        /// The user of the device is neither given nor in the journal; the database's owner is
        /// assumed.
        case userAssumed
    }
}

extension Store {
    /// Explains why a device does not have a record: its newest version, or the one as of a position.
    ///
    /// - Parameters:
    ///   - record: The record, with the zone's name in the database that holds the record.
    ///   - database: The database that holds the record: its owner's, even if a share shows the record.
    ///   - position: The event after which the version existed; `nil` for the newest version, including
    ///     later attempts to save one.
    ///   - device: The device, as it calls itself.
    ///   - user: The user of the device; `nil` for the last user in the journal.
    ///
    /// Costs one read of the record's history up to the version, and one of the journal. If the zone
    /// has no such record, at most 1,000 other zones of the store are searched for it.
    ///
    /// - Returns: The known causes, the gaps, and hints for a misspelled question.
    ///
    /// - Throws: `invalidArguments` for a position that the store never had or no longer has, and errors
    ///   of reading. A record that never existed is not an error, but an answer.
    public func explainAbsence(
        of record: RecordID,
        in database: DatabaseID = .standard,
        asOf position: SequenceNumber? = nil,
        from device: String,
        of user: UserID? = nil
    ) async throws(SyncError) -> Explanation {
        let past = try pastPicture(showing: [position].compactMap(\.self))
        var evidence = Evidence(of: record, in: database, from: device, of: user)
        let standing = try visitJournal { evidence.add($0) }
        evidence.finish(standing)
        var explaining = Explaining(record, device, evidence)
        if user == nil, evidence.user == nil {
            explaining.explanation.user = database.scope == .public ? nil : database.owner
            explaining.explanation.gaps.append(.userAssumed)
        }
        try await explaining.findVersion(self, past, in: database, asOf: position)
        // Rejections in the journal have no positions, so they are compared with the newest version
        // only.
        explaining.explainRefusals(isNewest: position == nil)
        if explaining.explanation.version != nil {
            let visibility = try visibility(
                of: record,
                in: database,
                to: explaining.explanation.user
            )
            explaining.explainDelivery(visibility, TokenReading(store: id, hash: past.hash))
        }
        try explaining.findHints(past, in: database)
        explaining.finish()
        return explaining.explanation
    }
}

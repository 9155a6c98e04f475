// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import Tidemark
public import TidemarkLog
public import TidemarkModel

/// Why a device does not have a version of a record: the first link of the chain that broke, what else is
/// known, and what is not.
public struct Explanation: Codable, Sendable {
    /// The record.
    public let record: RecordID
    /// The device.
    public let device: String
    /// Whose device it is; `nil` for nobody who is signed in.
    public internal(set) var user: UserID?
    /// The version that is asked about; `nil` if there is none.
    public internal(set) var version: PastChange?
    /// The causes that were found: the answer first, then further facts.
    public internal(set) var causes: [Cause] = []
    /// The gaps in the data that kept more from being found.
    public internal(set) var gaps: [Gap] = []

    /// Something that was refused, when, and why.
    public struct Refusal: Hashable, Codable, Sendable {
        /// The time by the store's own clock, in milliseconds since 1970.
        public var time: Int64
        /// The call, and who made it.
        public var refused: JournalEntry.Refused
        /// Of what was refused, what is meant here.
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

    /// A token that the device came with.
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
        /// Nothing of the kind was ever saved, as far as the log knows.
        case neverSaved
        /// Saving or deleting it was refused.
        case refused(Refusal)
        /// The device's user is not shown it.
        case hidden(RecordHiding)
        /// The device has asked, and was refused.
        case fetchRefused(Refusal)
        /// It was committed after what the device has been told up to its last token.
        case committedAfterToken(Delivery)
        /// The device has never asked for changes of the zone.
        case neverAsked
        /// It was replaced before the device asked: the device was given the version at this position.
        case superseded(SequenceNumber, Delivery)
        /// The device began anew after the record was deleted, and was never told of either.
        case beganAfterDeletion(Delivery)
        /// The device was given it: in this page, if the journal has that still; and has come back with a
        /// token that covers it, if it has.
        case delivered(Delivery?, Acknowledgement?)
        /// Nobody can tell whether the device was told.
        case unknown
    }

    /// Something that the answer would need and nobody knows.
    public enum Gap: Hashable, Codable, Sendable {
        /// There is no journal.
        case noJournal
        /// The journal reaches back to this time, in milliseconds since 1970, and no further.
        case journalBegins(Int64)
        /// Between these times it did not take in what devices were told; `nil` for now.
        case notFull(from: Int64, to: Int64?)
        /// So many entries could not be written.
        case entriesLost(UInt64)
        /// So many places of it are damaged.
        case journalDamaged(Int)
        /// The history of the record was pruned: this event and what came before it are gone.
        case historyPruned(through: SequenceNumber)
        /// There may have been such a record, of which compaction has left no trace.
        case noTrace
        /// Whose device it is was not said, and the journal does not know: it is taken for that of
        /// the database's owner.
        case userAssumed
    }
}

extension Store {
    /// Why a device does not have a record: its newest version, or that as of a position.
    ///
    /// - Parameters:
    ///   - record: The record, in the zone as the database that holds it names it.
    ///   - database: The database that holds it: its owner's, also where the device sees it by a share.
    ///   - position: Asks about the version that there was after this event; `nil` for the newest, which
    ///     includes later attempts to save one.
    ///   - device: The device, as it calls itself.
    ///   - user: Whose it is; `nil` for whom the journal last saw it used by.
    ///
    /// Costs the reading of the record's history up to the version, and of the journal.
    ///
    /// - Returns: What is known, and what is not.
    ///
    /// - Throws: `invalidArguments` for a position that the store never had or cannot show any more, and
    ///   what keeps it from being read. A record that never was is an answer.
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
        try await explaining.findVersion(self, in: database, asOf: position)
        explaining.explainRefusals(isNewest: position == nil)
        if explaining.explanation.version != nil {
            let visibility = try visibility(
                of: record,
                in: database,
                to: explaining.explanation.user
            )
            explaining.explainDelivery(visibility, TokenReading(store: id, hash: past.hash))
        }
        explaining.finish()
        return explaining.explanation
    }
}

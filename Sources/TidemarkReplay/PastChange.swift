// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import TidemarkLog
public import TidemarkModel

/// One change to a record: its kind, time and user, and the record after it.
public struct PastChange: Codable, Sendable {
    /// The kind of a change.
    public enum Happening: String, Hashable, Codable, Sendable {
        /// The record was saved where none was: for the first time, or after a deletion.
        case created
        /// The record was saved over the version before.
        case changed
        /// One commit deleted the record and saved it again.
        case recreated
        /// The record got a new change tag and nothing else.
        case touched
        /// The record was deleted.
        case deleted
        /// The record entered a share, and was not changed itself.
        case enteredShare
        /// The record is under a share no more, and was not changed itself.
        case leftShare
        /// The record's zone ended, and all that was in it.
        case zoneDeleted
    }

    /// A record's parent before and after.
    public struct ParentMove: Hashable, Codable, Sendable {
        /// The name of the parent before; `nil` if it had none, or it is no longer known.
        public var before: String?
        /// The name of the parent after; `nil` if it has none.
        public var after: String?
    }

    /// The kind of the change.
    public var happening: Happening
    /// The time, user and device of the change.
    public var origin: ChangeOrigin
    /// The epoch of the zone: the position of the event that created it.
    public var zoneEpoch: SequenceNumber
    /// The record after the change; `nil` if it was deleted, or if only its share changed.
    public var record: Record?
    /// The fields that were set or removed, in the order of their names' bytes: by a save those
    /// that the client named, by a deletion all that there were.
    public var fields: [FieldChange] = []
    /// The record's type before, if this version has another one.
    public var recordTypeBefore: String?
    /// The parent, if that changed.
    public var parent: ParentMove?
    /// True if the version before, if there was one, could be read.
    ///
    /// If false, the old values of fields are unknown.
    public var isBeforeKnown = true
    /// The policy of the save.
    public var policy: SavePolicy?
    /// The share that the record entered or left with this event.
    ///
    /// It is identified by the position of the event that began the share's audience, as in
    /// `tidemark log dump`.
    public var audience: SequenceNumber?
    /// The reason why the zone ended, if it did.
    public var reason: ZoneDeletionReason?
}

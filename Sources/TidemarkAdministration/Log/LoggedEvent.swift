// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkEvents
public import TidemarkLog
public import TidemarkModel

/// An event of the log, and the commit that holds it, as they are shown.
public struct LoggedEvent: Codable, Sendable {
    /// The event's position.
    public var sequence: SequenceNumber
    /// The name of the event's kind in the log, such as `recordSaved`.
    public var event: String
    /// The key of the zone that it is about: the position of the event that created it; zero for
    /// none.
    public var zoneKey: UInt64
    /// The database of the zone; `nil` if the event that created it is no longer in the log.
    public var database: DatabaseID?
    /// The name of the zone.
    public var zoneName: String?
    /// The name of the record that it is about.
    public var recordName: String?
    /// The type of that record.
    public var recordType: String?
    /// The position of the event of the record before; zero if there is none.
    public var replaces: UInt64?
    /// The position of the version that the client held, where it sent a tag.
    public var held: UInt64?
    /// The policy of the save.
    public var policy: SavePolicy?
    /// True if the record was recreated, without any part of the earlier version.
    public var isRecreation: Bool?
    /// The tag of a version that was saved.
    public var changeTag: RecordChangeTag?
    /// The fields of a version that was saved.
    public var fields: Fields?
    /// The reason why a zone ended.
    public var reason: ZoneDeletionReason?
    /// The position of the event that began the audience of the share.
    public var audience: UInt64?
    /// The position of the version that the share's participants get to see.
    public var version: UInt64?
    /// The position before which a compaction forgets history.
    public var history: UInt64?
    /// The position up to which deletions are forgotten.
    public var tombstones: UInt64?
    /// The position up to which requests are forgotten.
    public var requests: UInt64?
    /// The kind of an event that this version does not know.
    public var kind: UInt8?
    /// The commit.
    public var commit: Commit

    /// The commit that holds an event.
    public struct Commit: Codable, Sendable {
        /// The position of its first event.
        public var first: SequenceNumber
        /// The number of its events.
        public var eventCount: Int
        /// Its time, as the client claims, in milliseconds since 1970.
        public var time: Int64
        /// The time at which the store took it, in milliseconds since 1970.
        public var received: Int64
        /// The user that made the request.
        public var user: String?
        /// From which device.
        public var device: String?
        /// With which build of the app.
        public var build: String?
        /// Under which request id.
        public var request: String?
        /// The method by which the user was authenticated, in words.
        public var authentication: String?
        /// Its place in a distributed trace.
        public var traceparent: String?
        /// The position that the client had seen; `nil` if the client did not state it.
        public var seen: UInt64?
    }
}

extension LoggedEvent {
    /// Creates the content of an event.
    package init(_ decoded: DecodedEvent, in line: IncarnationLine) {
        sequence = decoded.event.sequence
        event = decoded.fact.name
        zoneKey = decoded.event.zone.rawValue
        database = decoded.zone?.database
        zoneName = decoded.zone?.zoneName.string
        recordName = decoded.recordName
        recordType = decoded.recordType
        commit = Commit(decoded.event.commit, decoded.envelope)
        switch decoded.fact {
        case .recordSaved(let saving, let body, let link):
            take(link)
            // A touch is no save of a client, so it has no policy.
            if !saving.isTouch { policy = saving.policy }
            if saving.isRecreation { isRecreation = true }
            // No event contains its own tag: a tag follows from the position and the store's
            // incarnations.
            changeTag = TagContent(of: sequence, in: line).tag
            fields = body.fields
        case .recordDeleted(_, _, let link): take(link)
        case .zoneDeleted(let reason): self.reason = reason
        case .audienceChanged(let audience):
            self.audience = audience.key.rawValue
            version = audience.version.rawValue
        case .tombstonesForgotten(let horizon): tombstones = horizon.rawValue
        case .compactionBegun(let run):
            history = run.history.rawValue
            tombstones = run.tombstones.rawValue
            requests = run.requests.rawValue
        case .skipped(let kind): self.kind = kind
        // The members above already name the zone and the request.
        case .zoneCreated, .requestNoted: break
        }
    }

    private mutating func take(_ link: DecodedEvent.Link) {
        replaces = link.previous.rawValue
        held = link.held?.rawValue
    }
}

extension DecodedEvent.Fact {
    /// The name of the event's kind in the log.
    fileprivate var name: String {
        switch self {
        case .recordSaved(let saving, _, _): saving.isTouch ? "recordTouched" : "recordSaved"
        case .recordDeleted: "recordDeleted"
        case .zoneCreated: "zoneCreated"
        case .zoneDeleted: "zoneDeleted"
        case .audienceChanged(let audience):
            audience.hasEntered ? "audienceEntered" : "audienceLeft"
        case .requestNoted: "requestNoted"
        case .tombstonesForgotten: "tombstonesForgotten"
        case .compactionBegun: "compactionBegun"
        case .skipped: "skipped"
        }
    }
}

extension LoggedEvent.Commit {
    fileprivate init(_ commit: LogCommit, _ envelope: CommitEnvelope) {
        self.init(
            first: commit.first,
            eventCount: commit.eventCount,
            time: commit.time,
            received: commit.received,
            user: envelope.user,
            device: envelope.device,
            build: envelope.build,
            request: envelope.request?.id,
            authentication: envelope.extras.authentication?.text,
            traceparent: envelope.extras.trace?.traceparent,
            // A causal parent of 0 is that of a client that did not state one.
            seen: envelope.causalParent > .zero ? envelope.causalParent.rawValue : nil
        )
    }
}

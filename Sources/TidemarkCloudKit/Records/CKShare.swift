// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import Foundation
import TidemarkLock
import TidemarkModel

/// The record of a share: the shared records of a private database, the participants and their
/// permissions.
///
/// Unchecked: the mutable state is behind a lock.
open class CKShare: CKRecord, @unchecked Sendable {
    /// A participant.
    public typealias Participant = CKShareParticipant
    /// The metadata of the share that a link leads to.
    public typealias Metadata = CKShareMetadata
    /// A user who requested access.
    public typealias AccessRequester = CKShareAccessRequester
    /// A user who may not request access.
    public typealias BlockedIdentity = CKShareBlockedIdentity

    /// The content of a share except its fields, as it is archived.
    struct Terms: Codable, Sendable {
        /// The name of the record whose tree is shared; `nil` for a whole zone.
        var root: String?
        var publicPermission = ParticipantPermission.none.rawValue
        var participants: [CKShareParticipant.Archive]
        var allowsAccessRequests = false
        var requesters: [CKUserIdentity.Archive] = []
        /// True if requests were removed from the list: otherwise a save leaves the list unchanged.
        var changesRequesters = false
        var blocked: [CKUserIdentity.Archive] = []
        /// True if a user was blocked or unblocked: otherwise a save leaves the list unchanged.
        var changesBlocked = false
        /// The end of the link; `nil` before the share was saved.
        var token: String?
        /// The id of the participant that the current user is.
        var currentUser: String?
        /// The part that the service had; `nil` before the share was saved, and in older archives.
        var saved: Saved?
    }

    /// The part of the terms that a save replaces as a whole.
    struct Saved: Codable, Hashable, Sendable {
        var publicPermission: Int
        var participants: [CKShareParticipant.Archive]
        var allowsAccessRequests: Bool
    }

    /// The terms, with the participants as objects, which a program may change.
    private struct State: Sendable {
        var terms: Terms
        var participants: [CKShareParticipant]

        init(_ terms: Terms) {
            self.terms = terms
            participants = terms.participants.map { CKShareParticipant($0) }
        }
    }

    /// While this lock is held, participants' own locks are taken, whose holders take no other
    /// lock.
    private let state: Lock<State>

    init(_ recordID: CKRecordID, _ content: RecordContent, _ terms: Terms) {
        state = Lock(State(terms))
        super.init(recordType: SystemType.share, recordID: recordID)
        change { $0 = content }
    }

    /// Unavailable: a share is of a record or a zone.
    ///
    /// Because of this declaration, initializers that a program adds to `CKRecord` are inherited by
    /// shares.
    @available(*, unavailable, message: "Use init(rootRecord:) or init(recordZoneID:).")
    public override init(recordType: RecordType, recordID: CKRecord.ID = CKRecord.ID()) {
        state = Lock(State(Self.firstTerms(nil)))
        super.init(recordType: SystemType.share, recordID: recordID)
    }

    /// Shares a record and all that is below it, under a new name in the record's zone.
    public convenience init(rootRecord: CKRecord) {
        let name = "Share-\(UUID().uuidString)"
        self.init(
            rootRecord: rootRecord,
            shareID: CKRecord.ID(recordName: name, zoneID: rootRecord.recordID.zoneID)
        )
    }

    /// Shares a record and all that is below it.
    ///
    /// The record is then the share's root; save both in one request.
    public convenience init(rootRecord: CKRecord, shareID: CKRecord.ID) {
        self.init(shareID, RecordContent(), Self.firstTerms(rootRecord.recordID.recordName))
        let reference = CKReference(recordID: shareID, action: .none)
        // Not a change to send: the service sets the share of the root when the share is saved
        // (Docs/semantics.md, "Sharing").
        rootRecord.change { $0.share = reference }
    }

    /// Shares a whole zone.
    public convenience init(recordZoneID: CKRecordZone.ID) {
        self.init(
            CKRecord.ID(recordName: CKRecordNameZoneWideShare, zoneID: recordZoneID),
            RecordContent(),
            Self.firstTerms(nil)
        )
    }

    private static func firstTerms(_ root: String?) -> Terms {
        let owner = CKShareParticipant.owner().archived
        return Terms(root: root, participants: [owner], currentUser: owner.id)
    }

    private var current: State { state.withLock { $0 } }

    // MARK: Participants

    /// The participants and the invited users, the owner first.
    open var participants: [CKShare.Participant] { current.participants }

    /// The owner of the shared zone.
    open var owner: CKShare.Participant {
        current.participants.first { $0.role == .owner } ?? CKShareParticipant.owner()
    }

    /// The participant of the current user; `nil` if there is none.
    open var currentUserParticipant: CKShare.Participant? {
        let state = current
        return state.participants.first { $0.participantID == state.terms.currentUser }
    }

    /// Adds a participant; an existing one gets the new role and permission.
    ///
    /// Takes effect when the share is saved.
    open func addParticipant(_ participant: CKShare.Participant) {
        state.withLock { state in
            // Each lookup creates another participant for the same user, so the identity counts
            // too.
            let known = state.participants.first { known in
                known.participantID == participant.participantID
                    || known.userIdentity.isSamePerson(as: participant.userIdentity)
            }
            guard let known else {
                state.participants.append(participant)
                return
            }
            known.permission = participant.permission
            if known.role != .owner { known.role = participant.role }
        }
    }

    /// Removes a participant; the owner stays.
    ///
    /// Takes effect when the share is saved.
    open func removeParticipant(_ participant: CKShare.Participant) {
        state.withLock { state in
            state.participants.removeAll { known in
                known.role != .owner
                    && (known.participantID == participant.participantID
                        || known.userIdentity.isSamePerson(as: participant.userIdentity))
            }
        }
    }

    /// The permission of everyone who has the link.
    ///
    /// With `none`, only invited users take part.
    open var publicPermission: CKShare.ParticipantPermission {
        get { .init(rawValue: current.terms.publicPermission) ?? .unknown }
        set { state.withLock { $0.terms.publicPermission = newValue.rawValue } }
    }

    /// The link; `nil` before the share was saved.
    open var url: URL? { current.terms.token.flatMap { CKShare.url(endingWith: $0) } }

    /// Returns the one-time link of a participant, for the first user who opens it; `nil` if there
    /// is none.
    open func oneTimeURL(for participantID: CKShare.Participant.ID) -> URL? {
        current.participants.first { $0.participantID == participantID }?.linkToken
            .flatMap { CKShare.url(endingWith: $0) }
    }

    // MARK: Requests for access

    /// True if users who have the link may request access.
    open var allowsAccessRequests: Bool {
        get { current.terms.allowsAccessRequests }
        set { state.withLock { $0.terms.allowsAccessRequests = newValue } }
    }

    /// The users who requested access.
    open var requesters: [CKShare.AccessRequester] {
        current.terms.requesters.map { CKShareAccessRequester(CKUserIdentity($0)) }
    }

    /// The users who may not request access.
    open var blockedIdentities: [CKShare.BlockedIdentity] {
        current.terms.blocked.map { CKShareBlockedIdentity(CKUserIdentity($0)) }
    }

    /// Removes requests from the list; takes effect when the share is saved.
    open func denyRequesters(_ requesters: [CKShare.AccessRequester]) {
        let names = requesters.map(\.userIdentity.userRecordID)
        state.withLock { state in
            state.terms.requesters.removeAll { request in
                names.contains(CKUserIdentity(request).userRecordID)
            }
            // Only a changed list is sent. It names the requests that stay, so an unchanged list
            // would drop those that came since the fetch.
            state.terms.changesRequesters = true
        }
    }

    /// Removes requests from the list and forbids others; takes effect when the share is saved.
    open func blockRequesters(_ requesters: [CKShare.AccessRequester]) {
        denyRequesters(requesters)
        let blocked = requesters.map(\.userIdentity.archived)
        state.withLock { state in
            state.terms.blocked += blocked
            state.terms.changesBlocked = true
        }
    }

    /// Allows requests again; takes effect when the share is saved.
    open func unblockIdentities(_ blockedIdentities: [CKShare.BlockedIdentity]) {
        let names = blockedIdentities.map(\.userIdentity.userRecordID)
        state.withLock { state in
            state.terms.blocked.removeAll { names.contains(CKUserIdentity($0).userRecordID) }
            state.terms.changesBlocked = true
        }
    }

    // MARK: Copying and coding

    /// Returns a share with the same content.
    open override func copy(with zone: NSZone? = nil) -> Any {
        // The terms hold participants as values, so the copy has participants of its own.
        CKShare(recordID, read { $0 }, currentTerms)
    }

    private var currentTerms: Terms {
        let state = current
        var terms = state.terms
        terms.participants = state.participants.map(\.archived)
        return terms
    }

    override var archivedTerms: Terms? { currentTerms }

    // Apple's does not fail, and programs use its result without unwrapping.
    /// Reads a share.
    ///
    /// If the archive contains something else, the share is one that no service accepts.
    public required init(coder aDecoder: NSCoder) {
        let archive = aDecoder.recordArchive
        state = Lock(State(archive?.shareTerms ?? Self.firstTerms(nil)))
        super.init(
            recordType: SystemType.share,
            recordID: archive.map { CKRecordID($0.recordID) } ?? CKRecord.ID()
        )
        if let content = archive?.content { change { $0 = content } }
    }

    // MARK: The service

    override func shareContent(seenBy reader: UserID?) -> ShareContent? {
        let state = current
        let terms = currentTerms
        // As with fields, only changes are sent: a save of other fields must not undo what others
        // have done with the participants since the fetch.
        if terms.saved == terms.toSave, !terms.changesRequesters, !terms.changesBlocked {
            return nil
        }
        func users(_ archives: [CKUserIdentity.Archive]) -> [UserID] {
            archives.compactMap { $0.user.map { UserID($0.name) } }
        }
        return ShareContent(
            root: state.terms.root,
            publicPermission: SharePermission(rawValue: state.terms.publicPermission) ?? .none,
            // The owner follows from the zone, and no save can change it.
            participants: state.participants.filter { $0.role != .owner }
                .map { $0.model(seenBy: reader) },
            allowsAccessRequests: state.terms.allowsAccessRequests,
            requesters: state.terms.changesRequesters ? users(state.terms.requesters) : nil,
            blocked: state.terms.changesBlocked ? users(state.terms.blocked) : nil
        )
    }

    override func take(_ share: Share, seenBy reader: UserID?) {
        // Participants that the program has from before the save are other objects from now on:
        // changing them no longer changes this share.
        let new = State(Terms(share, reader))
        state.withLock { $0 = new }
    }
}

extension CKUserIdentity {
    /// Returns true if both are known by the same record, address or number.
    fileprivate func isSamePerson(as other: CKUserIdentity) -> Bool {
        if let userRecordID, userRecordID == other.userRecordID { return true }
        if let lookupInfo, lookupInfo == other.lookupInfo { return true }
        return false
    }
}

extension CKShare {
    /// Returns the link to a share or an invitation.
    ///
    /// The service ignores the start of the link and only reads its end.
    static func url(endingWith token: String) -> URL? {
        URL(string: "https://tidemark.invalid/share/\(token)")
    }
}

extension CKShare.Terms {
    init(_ model: Share, _ reader: UserID?) {
        func identity(_ user: UserID) -> CKUserIdentity.Archive {
            CKUserIdentity(CKRecordID(user), lookup: CKUserIdentityLookupInfo(.user(user))).archived
        }
        self.init(
            root: model.root?.string,
            publicPermission: model.publicPermission.rawValue,
            participants: model.participants.map {
                CKShareParticipant.make($0, seenBy: reader).archived
            },
            allowsAccessRequests: model.allowsAccessRequests,
            requesters: model.requesters.map(identity),
            blocked: model.blocked.map(identity),
            token: model.token.isEmpty ? nil : model.token,
            currentUser: reader.flatMap { model.participant($0)?.id }
        )
        saved = toSave
    }

    fileprivate var toSave: CKShare.Saved {
        CKShare.Saved(
            publicPermission: publicPermission,
            participants: participants,
            allowsAccessRequests: allowsAccessRequests
        )
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import Foundation
import TidemarkLock
import TidemarkModel

/// A user who takes part in a share, or is invited to.
///
/// Programs write `CKShare.Participant`.
///
/// Unchecked: the mutable state is behind a lock.
open class CKShareParticipant: NSObject, NSCopying, NSSecureCoding, @unchecked Sendable {
    /// The identity of a participant within the share.
    public typealias ID = String
    /// The state of an invitation.
    public typealias AcceptanceStatus = CKShare.ParticipantAcceptanceStatus
    /// The permission of a participant.
    public typealias Permission = CKShare.ParticipantPermission
    /// The role of a participant in the share.
    public typealias Role = CKShare.ParticipantRole
    /// The role of a participant in the share, under its older name.
    public typealias ParticipantType = CKShare.ParticipantType

    /// The mutable part of a participant.
    private struct State: Sendable {
        var role: CKShare.ParticipantRole
        var permission: CKShare.ParticipantPermission
    }

    /// The identity of the user.
    public let userIdentity: CKUserIdentity
    /// The state of the invitation.
    public let acceptanceStatus: CKShare.ParticipantAcceptanceStatus
    /// The identity of the participant within the share.
    public let participantID: CKShare.Participant.ID
    /// True if the participant requested access and was accepted.
    public let isApprovedRequester: Bool
    /// The time at which the participant was added; `nil` before the share was saved.
    public let dateAddedToShare: Date?
    /// The end of the participant's own link; the first user who opens it becomes this participant.
    let linkToken: String?
    let isOneTime: Bool
    private let state: Lock<State>

    init(_ archive: Archive) {
        userIdentity = CKUserIdentity(archive.identity)
        acceptanceStatus = .init(rawValue: archive.acceptance) ?? .unknown
        participantID = archive.id
        isApprovedRequester = archive.isApprovedRequester
        dateAddedToShare = archive.added.map { Date(timeIntervalSinceReferenceDate: $0) }
        linkToken = archive.linkToken
        isOneTime = archive.isOneTime
        state = Lock(
            State(
                role: .init(rawValue: archive.role) ?? .unknown,
                permission: .init(rawValue: archive.permission) ?? .unknown
            )
        )
    }

    /// Creates a participant to invite, with permission to read.
    convenience init(_ identity: CKUserIdentity, isOneTime: Bool = false) {
        self.init(
            Archive(
                id: UUID().uuidString,
                identity: identity.archived,
                role: CKShare.ParticipantRole.privateUser.rawValue,
                permission: CKShare.ParticipantPermission.readOnly.rawValue,
                acceptance: CKShare.ParticipantAcceptanceStatus.unknown.rawValue,
                isOneTime: isOneTime
            )
        )
    }

    /// Returns the current user as the owner of a share that was not saved yet.
    static func owner() -> CKShareParticipant {
        let user = CKUserIdentity(CKRecordID(recordName: CKCurrentUserDefaultName))
        return CKShareParticipant(
            Archive(
                id: UUID().uuidString,
                identity: user.archived,
                role: CKShare.ParticipantRole.owner.rawValue,
                permission: CKShare.ParticipantPermission.readWrite.rawValue,
                acceptance: CKShare.ParticipantAcceptanceStatus.accepted.rawValue
            )
        )
    }

    /// Returns a participant without a user: the first user who opens its link becomes the
    /// participant.
    ///
    /// Add the participant to a share and save the share; then the share has the link.
    public class func oneTimeURLParticipant() -> CKShareParticipant {
        CKShareParticipant(CKUserIdentity(nil, hasAccount: false), isOneTime: true)
    }

    /// The participant's role in the share.
    open var role: CKShare.ParticipantRole {
        get { state.withLock { $0.role } }
        set { state.withLock { $0.role = newValue } }
    }

    /// The participant's permission.
    open var permission: CKShare.ParticipantPermission {
        get { state.withLock { $0.permission } }
        set { state.withLock { $0.permission = newValue } }
    }

    /// The participant's role in the share, under its older name.
    open var type: CKShare.ParticipantType {
        // Only `administrator` is missing in the older enumeration. An administrator is an invited
        // user too.
        get { CKShare.ParticipantType(rawValue: role.rawValue) ?? .privateUser }
        set { role = CKShare.ParticipantRole(rawValue: newValue.rawValue) ?? .unknown }
    }

    /// Returns true if the other object is the same participant.
    open override func isEqual(_ object: Any?) -> Bool {
        (object as? CKShareParticipant)?.participantID == participantID
    }

    /// Follows from the participant's id.
    open override var hash: Int { participantID.hashValue }

    /// The participant's identity and permission.
    open override var description: String {
        "<CKShareParticipant: \(userIdentity), role=\(role), permission=\(permission), "
            + "acceptanceStatus=\(acceptanceStatus)>"
    }

    // MARK: Copying and coding

    /// Returns a participant with the same content.
    open func copy(with zone: NSZone? = nil) -> Any { CKShareParticipant(archived) }

    /// True.
    public static var supportsSecureCoding: Bool { true }

    /// A participant, as it is archived.
    struct Archive: Codable, Hashable {
        var id: String
        var identity: CKUserIdentity.Archive
        var role: Int
        var permission: Int
        var acceptance: Int
        var isApprovedRequester = false
        var isOneTime = false
        var added: Double?
        var linkToken: String?
    }

    var archived: Archive {
        Archive(
            id: participantID,
            identity: userIdentity.archived,
            role: role.rawValue,
            permission: permission.rawValue,
            acceptance: acceptanceStatus.rawValue,
            isApprovedRequester: isApprovedRequester,
            isOneTime: isOneTime,
            added: dateAddedToShare?.timeIntervalSinceReferenceDate,
            linkToken: linkToken
        )
    }

    /// Writes the participant.
    open func encode(with coder: NSCoder) {
        coder.encode(archive: archived)
    }

    /// Reads a participant.
    public required convenience init?(coder: NSCoder) {
        guard let archive = coder.archive(of: Archive.self) else { return nil }
        self.init(archive)
    }
}

// MARK: The service

extension CKShareParticipant {
    /// Creates a participant of the service; the reader's own name is left out.
    static func make(_ model: ShareParticipant, seenBy reader: UserID?) -> CKShareParticipant {
        let lookup: UserLookup? =
            if !model.email.isEmpty {
                .email(model.email)
            } else if !model.phone.isEmpty {
                .phone(model.phone)
            } else {
                model.user.map { .user($0) }
            }
        let identity = CKUserIdentity(
            model.user.map { CKRecordID($0, seenBy: reader) },
            lookup: lookup.map { CKUserIdentityLookupInfo($0) },
            hasAccount: model.user != nil
        )
        return CKShareParticipant(
            Archive(
                id: model.id,
                identity: identity.archived,
                role: model.role.rawValue,
                permission: model.permission.rawValue,
                acceptance: model.acceptance.rawValue,
                isApprovedRequester: model.isApprovedRequester,
                isOneTime: model.isOneTime,
                added: Date(milliseconds: model.added).timeIntervalSinceReferenceDate,
                linkToken: model.linkToken.isEmpty ? nil : model.linkToken
            )
        )
    }

    /// Returns the participant for the service, with the reader's name for the current user.
    func model(seenBy reader: UserID?) -> ShareParticipant {
        // Acceptance, date and approval are not sent: the service determines them.
        var model = ShareParticipant(
            id: participantID,
            user: userIdentity.userRecordID.map { id in
                id.recordName == CKCurrentUserDefaultName
                    ? reader ?? .current : UserID(id.recordName)
            },
            email: userIdentity.lookupInfo?.emailAddress ?? "",
            phone: userIdentity.lookupInfo?.phoneNumber ?? "",
            // `unknown` is no value of the service. The values of a new invitation replace it.
            role: ShareRole(rawValue: role.rawValue) ?? .privateUser,
            permission: SharePermission(rawValue: permission.rawValue) ?? .readOnly,
            isOneTime: isOneTime
        )
        model.linkToken = linkToken ?? ""
        return model
    }
}

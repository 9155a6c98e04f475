// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import Foundation
import TidemarkModel

/// The details of a share that are visible to a user who has its link and has not accepted it.
///
/// Programs write `CKShare.Metadata`.
///
/// Unchecked: immutable.
open class CKShareMetadata: NSObject, NSCopying, NSSecureCoding, @unchecked Sendable {
    /// The container that the share is in.
    public let containerIdentifier: String
    /// The share.
    public let share: CKShare
    /// The record whose tree is shared; `nil` for a whole zone.
    public let hierarchicalRootRecordID: CKRecord.ID?
    /// The root record, if it was requested.
    public let rootRecord: CKRecord?
    /// The owner of the shared zone.
    public let ownerIdentity: CKUserIdentity
    /// The current user's role in the share.
    public let participantRole: CKShare.ParticipantRole
    /// The state of the current user's invitation.
    public let participantStatus: CKShare.ParticipantAcceptanceStatus
    /// The current user's permission, now or after accepting.
    public let participantPermission: CKShare.ParticipantPermission
    /// The link, as it was opened: with it the share is accepted.
    let link: String

    /// The record whose tree is shared; of a whole zone, the share's own.
    public var rootRecordID: CKRecord.ID { hierarchicalRootRecordID ?? share.recordID }

    /// The current user's role in the share, under its older name.
    public var participantType: CKShare.ParticipantType {
        CKShare.ParticipantType(rawValue: participantRole.rawValue) ?? .privateUser
    }

    /// Returns true if the object has the same metadata of the same share.
    open override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CKShareMetadata else { return false }
        return containerIdentifier == other.containerIdentifier
            && share.recordID == other.share.recordID
            && share.recordChangeTag == other.share.recordChangeTag
            && hierarchicalRootRecordID == other.hierarchicalRootRecordID
            && ownerIdentity == other.ownerIdentity && participantRole == other.participantRole
            && participantStatus == other.participantStatus
            && participantPermission == other.participantPermission && link == other.link
    }

    /// Follows from the share's id.
    open override var hash: Int { share.recordID.hash }

    /// The share's names.
    open override var description: String { "<CKShareMetadata: \(share.recordID)>" }

    // MARK: Copying and coding

    /// Returns the same object, which is immutable.
    open func copy(with zone: NSZone? = nil) -> Any { self }

    /// True.
    public static var supportsSecureCoding: Bool { true }

    private struct Archive: Codable {
        var container: String
        var share: PackedRecord
        var root: CKRecordID.Archive?
        var rootRecord: PackedRecord?
        var owner: CKUserIdentity.Archive
        var role: Int
        var status: Int
        var permission: Int
        var link: String
    }

    /// Writes the metadata.
    open func encode(with coder: NSCoder) {
        coder.encode(
            archive: Archive(
                container: containerIdentifier,
                share: PackedRecord(share),
                root: hierarchicalRootRecordID?.archived,
                rootRecord: rootRecord.map { PackedRecord($0) },
                owner: ownerIdentity.archived,
                role: participantRole.rawValue,
                status: participantStatus.rawValue,
                permission: participantPermission.rawValue,
                link: link
            )
        )
    }

    /// Reads the metadata.
    public required init?(coder: NSCoder) {
        guard let archive = coder.archive(of: Archive.self),
            let share = archive.share.archive.record as? CKShare
        else { return nil }
        containerIdentifier = archive.container
        self.share = share
        hierarchicalRootRecordID = archive.root.map { CKRecordID($0) }
        rootRecord = archive.rootRecord?.archive.record
        ownerIdentity = CKUserIdentity(archive.owner)
        participantRole = .init(rawValue: archive.role) ?? .unknown
        participantStatus = .init(rawValue: archive.status) ?? .unknown
        participantPermission = .init(rawValue: archive.permission) ?? .unknown
        link = archive.link
    }

    // MARK: The service

    /// Creates the metadata that a link leads to; `nil` if the service answered with no share.
    init?(_ model: ShareMetadata, link: String, seenBy reader: UserID? = nil) {
        guard let share = CKRecord.make(model.share, seenBy: reader) as? CKShare else { return nil }
        containerIdentifier = model.container.identifier
        self.share = share
        hierarchicalRootRecordID = model.root.map { CKRecordID($0) }
        rootRecord = model.rootRecord.map { CKRecord.make($0, seenBy: reader) }
        ownerIdentity = share.owner.userIdentity
        participantRole = .init(rawValue: model.role.rawValue) ?? .unknown
        participantStatus = .init(rawValue: model.acceptance.rawValue) ?? .unknown
        participantPermission = .init(rawValue: model.permission.rawValue) ?? .unknown
        self.link = link
    }
}

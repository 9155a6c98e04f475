// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import Foundation

// swift-format-ignore: AlwaysUseLowerCamelCase
/// The record name of a share of a whole zone.
public let CKRecordNameZoneWideShare = "cloudkit.zoneshare"

extension CKShare {
    /// The state of an invitation.
    public enum ParticipantAcceptanceStatus: Int, Sendable {
        /// The value is not known.
        case unknown = 0
        /// Not accepted yet.
        case pending = 1
        /// Accepted: the zone is in the participant's shared database.
        case accepted = 2
        /// Removed from the share.
        case removed = 3
    }

    /// The permission of a participant.
    public enum ParticipantPermission: Int, Sendable {
        /// The value is not known.
        case unknown = 0
        /// No permission.
        case none = 1
        /// Read.
        case readOnly = 2
        /// Read, create, change and delete.
        case readWrite = 3
    }

    /// The role of a participant in the share.
    public enum ParticipantRole: Int, Sendable {
        /// The value is not known.
        case unknown = 0
        /// The owner of the zone.
        case owner = 1
        /// May change the share.
        case administrator = 2
        /// Was invited.
        case privateUser = 3
        /// A participant who joined by the link of a public share.
        case publicUser = 4
    }

    /// The role of a participant in the share, under its older name.
    public enum ParticipantType: Int, Sendable {
        /// The value is not known.
        case unknown = 0
        /// The owner of the zone.
        case owner = 1
        /// Was invited.
        case privateUser = 3
        /// A participant who joined by the link of a public share.
        case publicUser = 4
    }

    /// Fields of a share that systems show.
    public enum SystemFieldKey {
        /// The title.
        public static let title: CKRecord.FieldKey = "cloudkit.title"
        /// The type of the shared content, as a uniform type identifier.
        public static let shareType: CKRecord.FieldKey = "cloudkit.type"
        /// The data of a small picture.
        public static let thumbnailImageData: CKRecord.FieldKey = "cloudkit.thumbnailImageData"
    }
}

/// A user who requested access to a share.
///
/// Programs write `CKShare.AccessRequester`.
///
/// Unchecked: immutable.
open class CKShareAccessRequester: NSObject, NSCopying, NSSecureCoding, @unchecked Sendable {
    /// The identity of the user.
    public let userIdentity: CKUserIdentity

    init(_ identity: CKUserIdentity) {
        userIdentity = identity
    }

    /// The lookup that fetches a participant for the user, to add to the share.
    open var participantLookupInfo: CKUserIdentity.LookupInfo {
        userIdentity.lookupInfo
            ?? CKUserIdentityLookupInfo(
                userRecordID: userIdentity.userRecordID ?? CKRecordID(recordName: "")
            )
    }

    /// Returns true if the other object is the same user.
    open override func isEqual(_ object: Any?) -> Bool {
        (object as? CKShareAccessRequester)?.userIdentity == userIdentity
    }

    /// Follows from the user.
    open override var hash: Int { userIdentity.hash }

    /// Returns the same object, which is immutable.
    open func copy(with zone: NSZone? = nil) -> Any { self }

    /// True.
    public static var supportsSecureCoding: Bool { true }

    /// Writes the identity.
    open func encode(with coder: NSCoder) {
        coder.encode(archive: userIdentity.archived)
    }

    /// Reads the identity.
    public required init?(coder: NSCoder) {
        guard let archive = coder.archive(of: CKUserIdentity.Archive.self) else { return nil }
        userIdentity = CKUserIdentity(archive)
    }
}

/// A user who may not request access to a share.
///
/// Programs write `CKShare.BlockedIdentity`.
///
/// Unchecked: immutable.
open class CKShareBlockedIdentity: NSObject, NSCopying, NSSecureCoding, @unchecked Sendable {
    /// The identity of the user.
    public let userIdentity: CKUserIdentity

    init(_ identity: CKUserIdentity) {
        userIdentity = identity
    }

    /// Returns true if the other object is the same user.
    open override func isEqual(_ object: Any?) -> Bool {
        (object as? CKShareBlockedIdentity)?.userIdentity == userIdentity
    }

    /// Follows from the user.
    open override var hash: Int { userIdentity.hash }

    /// Returns the same object, which is immutable.
    open func copy(with zone: NSZone? = nil) -> Any { self }

    /// True.
    public static var supportsSecureCoding: Bool { true }

    /// Writes the identity.
    open func encode(with coder: NSCoder) {
        coder.encode(archive: userIdentity.archived)
    }

    /// Reads the identity.
    public required init?(coder: NSCoder) {
        guard let archive = coder.archive(of: CKUserIdentity.Archive.self) else { return nil }
        userIdentity = CKUserIdentity(archive)
    }
}

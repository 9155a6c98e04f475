// Tidemark
// SPDX-License-Identifier: Apache-2.0

// Names of Swift 3, and those of Objective-C that Swift renamed. Classes that Swift knows as nested have
// these names themselves: CKRecordID, CKRecordZoneID, CKReference, CKQueryCursor, CKNotificationInfo,
// CKNotificationID, CKShareParticipant, CKShareMetadata, CKUserIdentityLookupInfo.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

/// The owner's name that stands for the current user.
@available(*, deprecated, renamed: "CKCurrentUserDefaultName")
public let CKOwnerDefaultName = CKCurrentUserDefaultName
/// The name of the zone that every public and private database has.
public let CKRecordZoneDefaultName = CKRecordZone.ID.defaultZoneName
/// The type of the records of users.
public let CKRecordTypeUserRecord = CKRecord.SystemType.userRecord
/// The type of shares.
public let CKRecordTypeShare = CKRecord.SystemType.share
/// The key of a record's parent.
public let CKRecordParentKey = CKRecord.SystemFieldKey.parent
/// The key of a record's share.
public let CKRecordShareKey = CKRecord.SystemFieldKey.share
/// The key of a share's title.
public let CKShareTitleKey = CKShare.SystemFieldKey.title
/// The key of the type of the shared content.
public let CKShareTypeKey = CKShare.SystemFieldKey.shareType
/// The key of a share's small picture.
public let CKShareThumbnailImageDataKey = CKShare.SystemFieldKey.thumbnailImageData

/// The older name of `CKRecord.ReferenceAction`.
public typealias CKRecord_Reference_Action = CKRecord.ReferenceAction
/// The older name of `CKShare.ParticipantAcceptanceStatus`.
public typealias CKShare_Participant_AcceptanceStatus = CKShare.ParticipantAcceptanceStatus
/// The older name of `CKShare.ParticipantType`.
public typealias CKShare_Participant_ParticipantType = CKShare.ParticipantType
/// The older name of `CKShare.ParticipantPermission`.
public typealias CKShare_Participant_Permission = CKShare.ParticipantPermission
/// The older name of `CKShare.ParticipantRole`.
public typealias CKShare_Participant_Role = CKShare.ParticipantRole
/// The older name of `CKError.Code`.
@available(*, deprecated, renamed: "CKError.Code")
public typealias CKErrorCode = CKError.Code
/// The older name of `CKRecordZone.Capabilities`.
@available(*, deprecated, renamed: "CKRecordZone.Capabilities")
public typealias CKRecordZoneCapabilities = CKRecordZone.Capabilities
/// The older name of `CKSubscription.SubscriptionType`.
@available(*, deprecated, renamed: "CKSubscription.SubscriptionType")
public typealias CKSubscriptionType = CKSubscription.SubscriptionType
/// The older name of `CKQuerySubscription.Options`.
@available(*, deprecated, renamed: "CKQuerySubscription.Options")
public typealias CKQuerySubscriptionOptions = CKQuerySubscription.Options
/// The older name of `CKQuerySubscription.Options`.
@available(*, deprecated, renamed: "CKQuerySubscription.Options")
public typealias CKSubscriptionOptions = CKQuerySubscription.Options
/// The older name of `CKNotification.NotificationType`.
@available(*, deprecated, renamed: "CKNotification.NotificationType")
public typealias CKNotificationType = CKNotification.NotificationType
/// The older name of `CKQueryNotification.Reason`.
@available(*, deprecated, renamed: "CKQueryNotification.Reason")
public typealias CKQueryNotificationReason = CKQueryNotification.Reason
/// The older name of `CKShare.ParticipantAcceptanceStatus`.
@available(*, deprecated, renamed: "CKShare.ParticipantAcceptanceStatus")
public typealias CKShareParticipantAcceptanceStatus = CKShare.ParticipantAcceptanceStatus
/// The older name of `CKShare.ParticipantPermission`.
@available(*, deprecated, renamed: "CKShare.ParticipantPermission")
public typealias CKShareParticipantPermission = CKShare.ParticipantPermission
/// The older name of `CKShare.ParticipantType`.
@available(*, deprecated, renamed: "CKShare.ParticipantType")
public typealias CKShareParticipantType = CKShare.ParticipantType
/// The older type of a user's identity.
@available(*, deprecated, renamed: "CKUserIdentity")
public typealias CKDiscoveredUserInfo = CKUserIdentity

extension CKUserIdentity {
    /// The user's first name; `nil` if it is not known.
    @available(*, deprecated, message: "Use nameComponents.")
    public var firstName: String? { nameComponents?.givenName }

    /// The user's family name; `nil` if it is not known.
    @available(*, deprecated, message: "Use nameComponents.")
    public var lastName: String? { nameComponents?.familyName }
}

extension CKRecordZoneID {
    /// Names a zone; without an owner, one of the current user.
    @available(*, deprecated, message: "An owner is no optional any more.")
    public convenience init(zoneName: String, ownerName: String?) {
        let owner: String = ownerName ?? CKCurrentUserDefaultName
        self.init(zoneName: zoneName, ownerName: owner)
    }
}

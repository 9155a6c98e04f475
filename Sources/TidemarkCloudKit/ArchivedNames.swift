// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Names classes in archives after the module `CloudKit`, whichever module a program imports.
///
/// Without this, programs with `CloudKit` and with `TidemarkCloudKit` could not read each other's
/// archives. Called when the program starts; see `CDefaultCloud`.
@_cdecl("tidemark_cloudkit_name_archived_classes")
public func nameArchivedClasses() {
    #if !canImport(Darwin)
    func name(_ type: AnyClass, _ name: String) {
        NSKeyedArchiver.setClassName("CloudKit." + name, for: type)
        NSKeyedUnarchiver.setClass(type, forClassName: "CloudKit." + name)
    }
    name(CKRecordZone.self, "CKRecordZone")
    name(CKShareParticipant.self, "CKShareParticipant")
    name(CKShareAccessRequester.self, "CKShareAccessRequester")
    name(CKShareBlockedIdentity.self, "CKShareBlockedIdentity")
    name(CKShareMetadata.self, "CKShareMetadata")
    name(CKAllowedSharingOptions.self, "CKAllowedSharingOptions")
    name(CKUserIdentityLookupInfo.self, "CKUserIdentityLookupInfo")
    name(CKUserIdentity.self, "CKUserIdentity")
    name(CKRecord.self, "CKRecord")
    name(CKShare.self, "CKShare")
    name(CKOperationGroup.self, "CKOperationGroup")
    name(CKAsset.self, "CKAsset")
    name(CKRecordID.self, "CKRecordID")
    name(CKServerChangeToken.self, "CKServerChangeToken")
    name(CLLocation.self, "CLLocation")
    name(CKRecordZoneID.self, "CKRecordZoneID")
    name(CKReference.self, "CKReference")
    name(CKQueryCursor.self, "CKQueryCursor")
    name(CKQuery.self, "CKQuery")
    name(CKLocationSortDescriptor.self, "CKLocationSortDescriptor")
    name(CKSubscription.self, "CKSubscription")
    name(CKQuerySubscription.self, "CKQuerySubscription")
    name(CKRecordZoneSubscription.self, "CKRecordZoneSubscription")
    name(CKDatabaseSubscription.self, "CKDatabaseSubscription")
    name(CKNotificationInfo.self, "CKNotificationInfo")
    name(CKNotificationID.self, "CKNotificationID")
    #endif
}

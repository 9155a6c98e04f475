// Tidemark
// SPDX-License-Identifier: Apache-2.0

// What programs call the verbs that were written before Swift 4.2.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

public import Foundation

/// The older name.
@available(*, deprecated, renamed: "CKFetchRecordZoneChangesOperation.ZoneConfiguration")
public typealias CKFetchRecordZoneChangesOptions =
    CKFetchRecordZoneChangesOperation.ZoneConfiguration

/// The older name.
@available(*, deprecated, renamed: "CKFetchRecordZoneChangesOperation.ZoneConfiguration")
public typealias CKFetchRecordZoneChangesConfiguration =
    CKFetchRecordZoneChangesOperation.ZoneConfiguration

/// The older name.
@available(*, deprecated, renamed: "CKModifyRecordsOperation.RecordSavePolicy")
public typealias CKRecordSavePolicy = CKModifyRecordsOperation.RecordSavePolicy

/// The older name.
@available(*, deprecated, renamed: "CKOperation.Configuration")
public typealias CKOperationConfiguration = CKOperation.Configuration

/// The older name.
@available(*, deprecated, renamed: "CKOperation.ID")
public typealias CKOperationID = CKOperation.ID

/// The older name.
@available(*, deprecated, renamed: "CKOperationGroup.TransferSize")
public typealias CKOperationGroupTransferSize = CKOperationGroup.TransferSize

/// The older name.
@available(*, deprecated, renamed: "CKContainer.ApplicationPermissions")
public typealias CKApplicationPermissions = CKContainer.ApplicationPermissions

/// The older name.
@available(*, deprecated, renamed: "CKContainer.ApplicationPermissionStatus")
public typealias CKApplicationPermissionStatus = CKContainer.ApplicationPermissionStatus

/// The older name.
@available(*, deprecated, renamed: "CKContainer.ApplicationPermissionBlock")
public typealias CKApplicationPermissionBlock = CKContainer.ApplicationPermissionBlock

/// Another spelling of `CKContainer.Application.PermissionBlock`.
public typealias CKContainer_Application_PermissionBlock = CKContainer.ApplicationPermissionBlock

/// Another spelling of `CKContainer.Application.Permissions`.
public typealias CKContainer_Application_Permissions = CKContainer.ApplicationPermissions

/// Another spelling of `CKContainer.Application.PermissionStatus`.
public typealias CKContainer_Application_PermissionStatus =
    CKContainer.ApplicationPermissionStatus

/// The older name.
@available(*, deprecated, renamed: "CKQueryOperation.maximumResults")
public let CKQueryOperationMaximumResults = CKQueryOperation.maximumResults

extension Foundation.NSNotification.Name {
    /// The older name.
    @available(*, deprecated, renamed: "CKAccountChanged")
    public static var CKAccountChangedNotification: Foundation.NSNotification.Name {
        .CKAccountChanged
    }
}

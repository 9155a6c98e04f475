// Tidemark
// SPDX-License-Identifier: Apache-2.0

// Apple's names, with their capital letters.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

/// The domain of CloudKit's errors.
public let CKErrorDomain = "CKErrorDomain"
/// The key in `userInfo` of the seconds after which a request may be repeated.
public let CKErrorRetryAfterKey = "CKRetryAfter"
/// The key in `userInfo` of the errors of single items.
public let CKPartialErrorsByItemIDKey = "CKPartialErrors"
/// The key in `userInfo` of the record that the client's one was made from.
public let CKRecordChangedErrorAncestorRecordKey = "AncestorRecord"
/// The key in `userInfo` of the record as the service has it.
public let CKRecordChangedErrorServerRecordKey = "ServerRecord"
/// The key in `userInfo` of the record that was to be saved.
public let CKRecordChangedErrorClientRecordKey = "ClientRecord"
/// The key in `userInfo` for a zone that is gone because the account's encryption was reset.
public let CKErrorUserDidResetEncryptedDataKey = "CKErrorUserDidResetEncryptedDataKey"

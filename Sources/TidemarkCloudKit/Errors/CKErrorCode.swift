// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation

extension CKError {
    /// The kind of failure.
    public enum Code: Int, Sendable {
        /// An internal failure that a caller cannot fix.
        case internalError = 1
        /// Some items failed, the request itself worked.
        case partialFailure = 2
        /// The network is not available.
        case networkUnavailable = 3
        /// The network is there, but the request failed on its way.
        case networkFailure = 4
        /// The container is unknown, or not open to the caller.
        case badContainer = 5
        /// The service cannot answer now.
        case serviceUnavailable = 6
        /// Too many requests in too short a time.
        case requestRateLimited = 7
        /// The app lacks an entitlement.
        case missingEntitlement = 8
        /// No user is signed in.
        case notAuthenticated = 9
        /// The caller may not read or write this.
        case permissionFailure = 10
        /// The requested item does not exist.
        case unknownItem = 11
        /// The request makes no sense as it is.
        case invalidArguments = 12
        /// The answer was cut short. Obsolete.
        case resultsTruncated = 13
        /// The record has changed since the client saw it.
        case serverRecordChanged = 14
        /// The service refused for a reason that has no code.
        case serverRejectedRequest = 15
        /// An asset's file is missing on the device, or its bytes were not sent.
        case assetFileNotFound = 16
        /// An asset's file changed while it was sent.
        case assetFileModified = 17
        /// The app is too old for the container, or the store too new for this program.
        case incompatibleVersion = 18
        /// A value that must be unique is not.
        case constraintViolation = 19
        /// The operation was cancelled.
        case operationCancelled = 20
        /// The token can no longer be answered.
        case changeTokenExpired = 21
        /// The item itself is valid; another item of its atomic batch failed.
        case batchRequestFailed = 22
        /// The zone is busy.
        case zoneBusy = 23
        /// The database does not do this.
        case badDatabase = 24
        /// The quota or the disk is full.
        case quotaExceeded = 25
        /// The zone does not exist.
        case zoneNotFound = 26
        /// The request or record is too large.
        case limitExceeded = 27
        /// The user deleted the zone's data.
        case userDeletedZone = 28
        /// A share has too many participants.
        case tooManyParticipants = 29
        /// The record is in a share already.
        case alreadyShared = 30
        /// The target of a reference does not exist, or is still referred to.
        case referenceViolation = 31
        /// An account's policy forbids this.
        case managedAccountRestricted = 32
        /// The participant must confirm an address first.
        case participantMayNeedVerification = 33
        /// The request was sent, the answer lost: whether it worked is unknown.
        case serverResponseLost = 34
        /// The asset exists, but is not available now.
        case assetNotAvailable = 35
        /// The account exists, but cannot be used yet.
        case accountTemporarilyUnavailable = 36
        /// The user has an invitation to this share already.
        case participantAlreadyInvited = 37
    }
}

extension CKError.Code {
    /// Returns true if an error has this code, for `catch CKError.zoneNotFound`.
    public static func ~= (code: CKError.Code, error: any Error) -> Bool {
        if let error = error as? CKError { return error.code == code }
        let error = error as NSError
        return error.domain == CKErrorDomain && error.code == code.rawValue
    }
}

extension CKError {
    /// An internal failure that a caller cannot fix.
    public static var internalError: Code { .internalError }
    /// Some items failed, the request itself worked.
    public static var partialFailure: Code { .partialFailure }
    /// The network is not available.
    public static var networkUnavailable: Code { .networkUnavailable }
    /// The network is there, but the request failed on its way.
    public static var networkFailure: Code { .networkFailure }
    /// The container is unknown, or not open to the caller.
    public static var badContainer: Code { .badContainer }
    /// The service cannot answer now.
    public static var serviceUnavailable: Code { .serviceUnavailable }
    /// Too many requests in too short a time.
    public static var requestRateLimited: Code { .requestRateLimited }
    /// The app lacks an entitlement.
    public static var missingEntitlement: Code { .missingEntitlement }
    /// No user is signed in.
    public static var notAuthenticated: Code { .notAuthenticated }
    /// The caller may not read or write this.
    public static var permissionFailure: Code { .permissionFailure }
    /// The requested item does not exist.
    public static var unknownItem: Code { .unknownItem }
    /// The request makes no sense as it is.
    public static var invalidArguments: Code { .invalidArguments }
    /// The answer was cut short.
    ///
    /// Obsolete.
    public static var resultsTruncated: Code { .resultsTruncated }
    /// The record has changed since the client saw it.
    public static var serverRecordChanged: Code { .serverRecordChanged }
    /// The service refused for a reason that has no code.
    public static var serverRejectedRequest: Code { .serverRejectedRequest }
    /// An asset's file is missing on the device, or its bytes were not sent.
    public static var assetFileNotFound: Code { .assetFileNotFound }
    /// An asset's file changed while it was sent.
    public static var assetFileModified: Code { .assetFileModified }
    /// The app is too old for the container, or the store too new for this program.
    public static var incompatibleVersion: Code { .incompatibleVersion }
    /// A value that must be unique is not.
    public static var constraintViolation: Code { .constraintViolation }
    /// The operation was cancelled.
    public static var operationCancelled: Code { .operationCancelled }
    /// The token can no longer be answered.
    public static var changeTokenExpired: Code { .changeTokenExpired }
    /// The item itself is valid; another item of its atomic batch failed.
    public static var batchRequestFailed: Code { .batchRequestFailed }
    /// The zone is busy.
    public static var zoneBusy: Code { .zoneBusy }
    /// The database does not do this.
    public static var badDatabase: Code { .badDatabase }
    /// The quota or the disk is full.
    public static var quotaExceeded: Code { .quotaExceeded }
    /// The zone does not exist.
    public static var zoneNotFound: Code { .zoneNotFound }
    /// The request or record is too large.
    public static var limitExceeded: Code { .limitExceeded }
    /// The user deleted the zone's data.
    public static var userDeletedZone: Code { .userDeletedZone }
    /// A share has too many participants.
    public static var tooManyParticipants: Code { .tooManyParticipants }
    /// The record is in a share already.
    public static var alreadyShared: Code { .alreadyShared }
    /// The target of a reference does not exist, or is still referred to.
    public static var referenceViolation: Code { .referenceViolation }
    /// An account's policy forbids this.
    public static var managedAccountRestricted: Code { .managedAccountRestricted }
    /// The participant must confirm an address first.
    public static var participantMayNeedVerification: Code { .participantMayNeedVerification }
    /// The request was sent, the answer lost: whether it worked is unknown.
    public static var serverResponseLost: Code { .serverResponseLost }
    /// The asset exists, but is not available now.
    public static var assetNotAvailable: Code { .assetNotAvailable }
    /// The account exists, but cannot be used yet.
    public static var accountTemporarilyUnavailable: Code { .accountTemporarilyUnavailable }
    /// The user has an invitation to this share already.
    public static var participantAlreadyInvited: Code { .participantAlreadyInvited }
}

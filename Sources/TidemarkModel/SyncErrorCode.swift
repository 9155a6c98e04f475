// Tidemark
// SPDX-License-Identifier: Apache-2.0

extension SyncError {
    /// CloudKit's error codes.
    ///
    /// Raw values are those of `CKError.Code`.
    public enum Code: Int, Hashable, CaseIterable, Codable, Sendable {
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
        /// The request is invalid.
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

extension SyncError.Code {
    /// The remedy for an error of this kind, used if its message has no more exact one.
    public var remedy: String {
        switch self {
        case .internalError: "Report it with the message; retrying does not help."
        case .partialFailure: "Check the error of each item; the other items are done."
        case .networkUnavailable, .networkFailure: "Repeat the request when there is a network."
        case .badContainer: "Check the container's identifier and who may use it."
        case .serviceUnavailable, .requestRateLimited, .zoneBusy:
            "Wait as long as the error says, then repeat the request."
        case .missingEntitlement: "Give the app the entitlement and build it again."
        case .notAuthenticated: "Sign in, then repeat the request."
        case .permissionFailure: "Ask the owner for permission, or leave the item out."
        case .unknownItem:
            "Check the name. If the item was deleted, drop the local copy, or save it without a change tag."
        case .invalidArguments: "Correct the request; repeating it as it is does not help."
        case .resultsTruncated: "Fetch the rest."
        case .serverRecordChanged:
            "Apply your changes to the server record in the error, and save that."
        case .serverRejectedRequest: "Correct the request; the message says what was rejected."
        case .assetFileNotFound, .assetFileModified:
            "Send the asset again, from a file that does not change."
        case .incompatibleVersion: "Update the app, or the program that opens the store."
        case .constraintViolation: "Choose another value for the field that must be unique."
        case .operationCancelled: "Start the operation again if it is still wanted."
        case .changeTokenExpired:
            "Discard what was fetched with this token, and fetch without a token."
        case .batchRequestFailed: "Fix or leave out the item that failed, and send the rest again."
        case .badDatabase: "Use a database that can do this; custom zones are private ones."
        case .quotaExceeded: "Free space, or raise the quota, then repeat the request."
        case .zoneNotFound: "Check the zone's name, or create the zone, then repeat the request."
        case .limitExceeded: "Split the request in half and send both parts, or shrink the record."
        case .userDeletedZone: "Ask the user before creating the zone again."
        case .tooManyParticipants: "Remove participants before adding others."
        case .alreadyShared: "Use the share that exists."
        case .referenceViolation:
            "Save the target first or with it; delete what refers to it first."
        case .managedAccountRestricted: "Use another account; this one's policy forbids it."
        case .participantMayNeedVerification: "Open the share's URL and confirm the address."
        case .serverResponseLost:
            "Repeat the request under the same request id, or fetch and then decide."
        case .assetNotAvailable, .accountTemporarilyUnavailable: "Repeat the request later."
        case .participantAlreadyInvited: "Accept the invitation that exists."
        }
    }

    /// True if the same request may succeed later without a change.
    public var isRetryable: Bool {
        switch self {
        case .networkUnavailable, .networkFailure, .serviceUnavailable, .requestRateLimited,
            .operationCancelled, .zoneBusy, .serverResponseLost, .assetNotAvailable,
            .accountTemporarilyUnavailable:
            true
        default: false
        }
    }

    /// The `serverErrorCode` of CloudKit Web Services.
    public var serverErrorCode: String {
        switch self {
        case .permissionFailure, .missingEntitlement, .managedAccountRestricted,
            .participantMayNeedVerification:
            "ACCESS_DENIED"
        case .partialFailure, .batchRequestFailed: "ATOMIC_ERROR"
        case .notAuthenticated, .accountTemporarilyUnavailable: "AUTHENTICATION_REQUIRED"
        case .badContainer, .invalidArguments, .resultsTruncated, .incompatibleVersion,
            .changeTokenExpired, .badDatabase, .limitExceeded, .tooManyParticipants,
            .assetFileNotFound, .assetFileModified, .operationCancelled:
            "BAD_REQUEST"
        case .serverRecordChanged: "CONFLICT"
        case .alreadyShared, .participantAlreadyInvited: "EXISTS"
        case .internalError, .serverRejectedRequest: "INTERNAL_ERROR"
        case .unknownItem: "NOT_FOUND"
        case .quotaExceeded: "QUOTA_EXCEEDED"
        case .requestRateLimited: "THROTTLED"
        case .networkUnavailable, .networkFailure, .serviceUnavailable, .zoneBusy,
            .serverResponseLost, .assetNotAvailable:
            "TRY_AGAIN_LATER"
        case .constraintViolation: "UNIQUE_FIELD_ERROR"
        case .referenceViolation: "VALIDATING_REFERENCE_ERROR"
        case .zoneNotFound, .userDeletedZone: "ZONE_NOT_FOUND"
        }
    }

    /// The HTTP status for ``serverErrorCode``.
    public var httpStatus: Int {
        switch serverErrorCode {
        case "ACCESS_DENIED": 403
        // CloudKit documents 421, where other services use 401.
        case "AUTHENTICATION_REQUIRED": 421
        case "CONFLICT", "EXISTS", "UNIQUE_FIELD_ERROR": 409
        case "INTERNAL_ERROR": 500
        case "NOT_FOUND", "ZONE_NOT_FOUND": 404
        case "QUOTA_EXCEEDED": 413
        case "THROTTLED": 429
        case "TRY_AGAIN_LATER": 503
        case "VALIDATING_REFERENCE_ERROR": 412
        default: 400
        }
    }

    /// Creates the code for an error of CloudKit Web Services; `nil` for an unknown text.
    public init?(serverErrorCode: String) {
        switch serverErrorCode {
        case "ACCESS_DENIED": self = .permissionFailure
        case "ATOMIC_ERROR": self = .batchRequestFailed
        case "AUTHENTICATION_FAILED", "AUTHENTICATION_REQUIRED": self = .notAuthenticated
        case "BAD_REQUEST": self = .invalidArguments
        case "CONFLICT", "EXISTS": self = .serverRecordChanged
        case "INTERNAL_ERROR": self = .serverRejectedRequest
        case "NOT_FOUND": self = .unknownItem
        case "QUOTA_EXCEEDED": self = .quotaExceeded
        case "THROTTLED": self = .requestRateLimited
        case "TRY_AGAIN_LATER": self = .serviceUnavailable
        case "UNIQUE_FIELD_ERROR": self = .constraintViolation
        case "VALIDATING_REFERENCE_ERROR": self = .referenceViolation
        case "ZONE_NOT_FOUND": self = .zoneNotFound
        default: return nil
        }
    }
}

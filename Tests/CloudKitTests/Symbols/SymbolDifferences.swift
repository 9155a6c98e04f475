// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// What is not as on Apple's systems.
enum SymbolDifferences {
    enum Difference {
        /// It is there, but.
        case differs(String)
        /// There is nothing here that it could do.
        case notApplicable(String)
    }

    /// By type, or by type and name.
    static let all: [String: Difference] = [
        "CKShareTransferRepresentation": .notApplicable("it is for the share sheet"),
        "CKShareTransferRepresentation.ExportedShare": .notApplicable("it is for the share sheet"),
        "CKSystemSharingUIObserver": .notApplicable("there is no system interface for sharing"),
        "CKFetchWebAuthTokenOperation": .notApplicable(
            "its tokens are for Apple's servers; it ends with `serverRejectedRequest`"
        ),
        "CKOperation.Configuration.allowsCellularAccess": .differs(
            "kept, without effect: there is no network of that kind"
        ),
        "CKOperation.allowsCellularAccess": .differs(
            "kept, without effect: there is no network of that kind"
        ),
        "CKOperationGroup.expectedSendSize": .differs("kept, without effect"),
        "CKOperationGroup.expectedReceiveSize": .differs("kept, without effect"),
        "CKAllowedSharingOptions": .differs("kept, without effect: it is for the share sheet"),
        "CKContainer.requestApplicationPermission(_:completionHandler:)": .differs(
            "granted without asking: what others may find is what an operator says"
        ),
        "CKContainer.status(forApplicationPermission:completionHandler:)": .differs(
            "granted once it was requested: what others may find is what an operator says"
        ),
        "CKModifyRecordsOperation.clientChangeTokenData": .differs(
            "kept by the device: other devices do not get it"
        ),
        "CKRecord.encodeSystemFields(with:)": .differs(
            "of Tidemark's own form; system fields that Apple's framework wrote are read"
        ),
        "CKNotification.badge": .differs("the device counts, not the service"),
        "CKRecordZone.encryptionScope": .differs(
            "kept on the object alone, without effect: the service encrypts nothing"
        ),
        "CKUserIdentity.nameComponents": .differs(
            "known of who is looked up; `nil` in shares that are fetched"
        ),
        "CKShare.AccessRequester.contact": .notApplicable("there is no framework for contacts"),
        "CKShare.BlockedIdentity.contact": .notApplicable("there is no framework for contacts"),
        "CKSyncEngine.fetchChanges(_:)": .differs(
            "awaited in a callback of the delegate it throws `invalidArguments`, and does not trap"
        ),
        "CKSyncEngine.sendChanges(_:)": .differs(
            "awaited in a callback of the delegate it throws `invalidArguments`, and does not trap"
        ),
    ]
}

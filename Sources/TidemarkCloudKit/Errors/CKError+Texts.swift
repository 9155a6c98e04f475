// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TidemarkModel

extension CKError {
    /// Creates an error that this module detects itself.
    init(_ code: Code, _ message: String) {
        // Through `SyncError`, which knows the remedy for each code.
        let error = SyncError(SyncError.Code(rawValue: code.rawValue) ?? .internalError, message)
        self.init(
            Code(rawValue: error.code.rawValue) ?? .internalError,
            userInfo: Self.userInfo(error)
        )
    }

    /// Returns the entries of `userInfo` that programs look up for any error.
    static func userInfo(_ error: SyncError) -> [String: Any] {
        // Apple's framework has no constants for the last two keys. Programs read them from its
        // errors.
        var userInfo: [String: Any] = [
            NSLocalizedDescriptionKey: error.message,
            NSLocalizedRecoverySuggestionErrorKey: error.remedy,
            "CKErrorDescription": error.message,
            "ServerErrorDescription": error.message,
        ]
        userInfo[CKErrorRetryAfterKey] = error.retryAfter.map { NSNumber(value: $0.inSeconds) }
        if error.userDidResetEncryptedData { userInfo[CKErrorUserDidResetEncryptedDataKey] = true }
        return userInfo
    }
}

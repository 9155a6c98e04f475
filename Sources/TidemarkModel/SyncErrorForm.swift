// Tidemark
// SPDX-License-Identifier: Apache-2.0

extension SyncError: Codable {
    private enum CodingKeys: String, CodingKey {
        case code, message, retryAfterMilliseconds, conflict, partialErrors
        case userDidResetEncryptedData, isHistoryPruned, isDiskFull, remedy
    }

    /// Reads `code` and `message`, and the optional members of an error.
    ///
    /// An unknown code is read as `internalError`.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        // A newer service may have a code that this client does not know.
        let code = Code(rawValue: try container.decode(Int.self, forKey: .code)) ?? .internalError
        let wait = try container.decodeIfPresent(Int64.self, forKey: .retryAfterMilliseconds)
        func flag(_ key: CodingKeys) throws -> Bool {
            try container.decodeIfPresent(Bool.self, forKey: key) ?? false
        }
        self.init(
            code,
            try container.decode(String.self, forKey: .message),
            retryAfter: wait.map { .milliseconds($0) },
            conflict: try container.decodeIfPresent(ConflictRecords.self, forKey: .conflict),
            partialErrors: try container.decodeIfPresent([ItemError].self, forKey: .partialErrors)
                ?? [],
            userDidResetEncryptedData: try flag(.userDidResetEncryptedData),
            isHistoryPruned: try flag(.isHistoryPruned),
            isDiskFull: try flag(.isDiskFull),
            remedy: try container.decodeIfPresent(String.self, forKey: .remedy)
        )
    }

    /// Writes the error with its optional members.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(code.rawValue, forKey: .code)
        try container.encode(message, forKey: .message)
        try container.encodeIfPresent(
            retryAfter.map { $0.inMilliseconds },
            forKey: .retryAfterMilliseconds
        )
        try container.encodeIfPresent(conflict, forKey: .conflict)
        if !partialErrors.isEmpty { try container.encode(partialErrors, forKey: .partialErrors) }
        if userDidResetEncryptedData {
            try container.encode(true, forKey: .userDidResetEncryptedData)
        }
        if isHistoryPruned { try container.encode(true, forKey: .isHistoryPruned) }
        if isDiskFull { try container.encode(true, forKey: .isDiskFull) }
        try container.encode(remedy, forKey: .remedy)
    }
}

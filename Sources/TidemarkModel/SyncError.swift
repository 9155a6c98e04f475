// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The reason why a request, or one item of it, failed: CloudKit's code, the cause and the remedy.
public struct SyncError: Error, Hashable, Sendable {
    /// The identity of an item of a request.
    public enum Item: Hashable, Codable, Sendable {
        /// A record.
        case record(RecordID)
        /// A zone.
        case zone(ZoneID)
        /// A subscription, by its id.
        case subscription(String)
    }

    /// An item that failed, and why.
    public struct ItemError: Hashable, Codable, Sendable {
        /// The item.
        public let item: Item
        /// The error of the item.
        public let error: SyncError

        /// Pairs an item with its error.
        public init(_ item: Item, _ error: SyncError) {
            self.item = item
            self.error = error
        }
    }

    /// Stored separately, so that an error is always one word wide.
    private final class Content: Sendable {
        let code: Code
        let message: String
        let retryAfter: Duration?
        let conflict: ConflictRecords?
        let partialErrors: [ItemError]
        let userDidResetEncryptedData: Bool
        let isHistoryPruned: Bool
        let isDiskFull: Bool
        let remedy: String?

        init(
            _ code: Code,
            _ message: String,
            _ retryAfter: Duration?,
            _ conflict: ConflictRecords?,
            _ partialErrors: [ItemError],
            _ userDidResetEncryptedData: Bool,
            _ isHistoryPruned: Bool,
            _ isDiskFull: Bool,
            _ remedy: String?
        ) {
            self.code = code
            self.message = message
            self.retryAfter = retryAfter
            self.conflict = conflict
            self.partialErrors = partialErrors
            self.userDidResetEncryptedData = userDidResetEncryptedData
            self.isHistoryPruned = isHistoryPruned
            self.isDiskFull = isDiskFull
            self.remedy = remedy
        }
    }

    private let content: Content

    /// Creates an error.
    ///
    /// The message names the cause, the place, and the expected and actual values; a message above
    /// 4,000 bytes loses its middle. The description adds `remedy`, or else the remedy of the code.
    public init(
        _ code: Code,
        _ message: String,
        retryAfter: Duration? = nil,
        conflict: ConflictRecords? = nil,
        partialErrors: [ItemError] = [],
        userDidResetEncryptedData: Bool = false,
        isHistoryPruned: Bool = false,
        isDiskFull: Bool = false,
        remedy: String? = nil
    ) {
        content = Content(
            code,
            message.boundedForErrors,
            retryAfter,
            conflict,
            partialErrors,
            userDidResetEncryptedData,
            isHistoryPruned,
            isDiskFull,
            remedy?.boundedForErrors
        )
    }

    /// CloudKit's code.
    public var code: Code { content.code }

    /// The cause of the error.
    public var message: String { content.message }

    /// The remedy.
    public var remedy: String {
        if let remedy = content.remedy { return remedy }
        let isTemporary = [.serviceUnavailable, .requestRateLimited, .zoneBusy].contains(code)
        return isTemporary && retryAfter == nil
            ? "Repeat the request once the cause is gone." : code.remedy
    }

    /// The time after which the request may be repeated unchanged; `nil` if it should not be.
    public var retryAfter: Duration? { content.retryAfter }

    /// The records of a `serverRecordChanged`.
    public var conflict: ConflictRecords? { content.conflict }

    /// The items that failed, for a `partialFailure`.
    public var partialErrors: [ItemError] { content.partialErrors }

    /// True if a `zoneNotFound` was caused by a reset of the account's encryption.
    public var userDidResetEncryptedData: Bool { content.userDidResetEncryptedData }

    /// True if an `invalidArguments` was caused by a point before the history horizon.
    ///
    /// A later point may still be known.
    public var isHistoryPruned: Bool { content.isHistoryPruned }

    /// True if a `quotaExceeded` was caused by the disk of the store, and not by a quota.
    public var isDiskFull: Bool { content.isDiskFull }

    /// Returns true if two errors have the same content.
    public static func == (lhs: SyncError, rhs: SyncError) -> Bool {
        // The remedy is not compared: a decoded error has as its own remedy the one that its code
        // implied.
        lhs.content === rhs.content
            || lhs.code == rhs.code && lhs.message == rhs.message
                && lhs.retryAfter == rhs.retryAfter && lhs.conflict == rhs.conflict
                && lhs.partialErrors == rhs.partialErrors
                && lhs.userDidResetEncryptedData == rhs.userDidResetEncryptedData
                && lhs.isHistoryPruned == rhs.isHistoryPruned
                && lhs.isDiskFull == rhs.isDiskFull
    }

    /// Hashes the code and the message.
    public func hash(into hasher: inout Hasher) {
        // Equal errors have the same code and text. Hashing the records of a conflict would read
        // all of their bytes.
        hasher.combine(code)
        hasher.combine(message)
    }
}

extension SyncError: CustomStringConvertible {
    /// The code's name and number, the message, and the remedy.
    public var description: String {
        let wait = retryAfter.map { " Retry after \($0.inSeconds) seconds." } ?? ""
        // CloudKit's own texts have no full stop, nor have those of other libraries.
        let end = message.last.map { $0.isLetter || $0.isNumber } == true ? "." : ""
        return "\(code) (\(code.rawValue)): \(message)\(end) \(remedy)\(wait)"
    }
}

extension SyncError.Item: CustomStringConvertible {
    /// The kind and the identity of the item.
    public var description: String {
        switch self {
        case .record(let id): "record \(id)"
        case .zone(let id): "zone \(id)"
        case .subscription(let id): "subscription \(id)"
        }
    }
}

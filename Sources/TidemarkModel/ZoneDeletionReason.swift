// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// Why a zone is gone.
///
/// Raw values are those of CloudKit's sync engine, and on disk.
public enum ZoneDeletionReason: UInt8, Hashable, CaseIterable, Codable, Sendable {
    /// A client deleted it.
    case deleted = 0
    /// The user removed the app's data: whoever uses the zone meets `userDeletedZone`, and asks
    /// before making it again.
    case purged = 1
    /// The account's encryption was reset: whoever uses the zone meets `zoneNotFound` with
    /// ``SyncError/userDidResetEncryptedData``, makes it again and uploads what it has.
    case encryptedDataReset = 2

    /// The name in a change stream.
    package var streamName: String {
        switch self {
        case .deleted: "deleted"
        case .purged: "purged"
        case .encryptedDataReset: "encryptedDataReset"
        }
    }
}

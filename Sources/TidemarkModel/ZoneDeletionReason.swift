// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The reason why a zone is gone.
///
/// Raw values are those of CloudKit's sync engine, and on disk.
public enum ZoneDeletionReason: UInt8, Hashable, CaseIterable, Codable, Sendable {
    /// A client deleted it.
    case deleted = 0
    /// The user removed the app's data.
    ///
    /// Clients that use the zone get `userDeletedZone`, and ask the user before they create it
    /// again.
    case purged = 1
    /// The account's encryption was reset.
    ///
    /// Clients that use the zone get `zoneNotFound` with ``SyncError/userDidResetEncryptedData``.
    /// They create it again and upload their data.
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

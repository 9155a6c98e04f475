// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import TidemarkModel

/// The parts of a server that answers contain: addresses, receipts, and identities of users.
public protocol WebHost: Sendable {
    /// Creates the address at which the user of the request signs in; `nil` if there is none.
    func signInURL() -> String?

    /// Creates the address to which the bytes of a new asset are sent.
    func uploadURL(for target: AssetTarget, as caller: Caller) -> String

    /// Creates the address at which the bytes of a record's asset are available for some time.
    func downloadURL(
        of asset: AssetReference,
        at request: DownloadAssetRequest,
        as caller: Caller
    ) -> String

    /// Creates the receipt that names an asset in a save.
    ///
    /// Without a target it is valid in any field of the caller's database.
    func receipt(
        for asset: AssetReference,
        _ target: AssetTarget?,
        as caller: Caller
    ) -> String

    /// Returns the asset and the target of the caller's receipt; `nil` for an invalid or expired
    /// text.
    func asset(
        ofReceipt receipt: String,
        as caller: Caller
    ) -> (asset: AssetReference, target: AssetTarget?)?

    /// Returns a token after the current content of a zone; `nil` if there is none.
    func currentToken(of zone: ZoneID, as caller: Caller) -> ChangeToken?

    /// Returns the newest changes of a zone up to a token, oldest first, with a token before them.
    func newestChanges(
        _ request: ZoneChangesRequest,
        through end: ChangeToken,
        as caller: Caller
    ) async throws(SyncError) -> ZoneChanges

    /// Returns the end of the link to a record's share before the share exists.
    ///
    /// It is the same each time, and cannot be guessed.
    func shortGUID(of record: RecordID, as caller: Caller) -> String

    /// Returns the link to a share.
    func shareURL(ofToken token: String) -> String

    /// Returns the caller's identity, as the caller sees it.
    func profile(of caller: Caller) async throws(SyncError) -> UserIdentity
}

/// The field that will contain an asset.
public struct AssetTarget: Hashable, Sendable {
    /// The zone of the record.
    public var zone: ZoneID
    /// The record's type.
    public var recordType: String
    /// The field.
    public var fieldName: String

    /// Names a field.
    public init(zone: ZoneID, recordType: String, fieldName: String) {
        self.zone = zone
        self.recordType = recordType
        self.fieldName = fieldName
    }
}

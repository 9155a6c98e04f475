// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import TidemarkModel

/// The transport to a `DatabaseService` in another process or on another machine.
///
/// It carries bytes without reading them. A connection that failed or was lost is
/// `networkUnavailable`, `networkFailure` or `serverResponseLost`. Every other error is the
/// service's own.
public protocol ServiceTransport: Sendable {
    /// The form that the other side is known or hoped to have.
    ///
    /// A transport that learns that it was hoped in vain changes it, and throws: the request is
    /// then sent again in the other form.
    var form: WireForm { get }

    /// True once the transport was closed for good: streams end then, and do not resume.
    var isClosed: Bool { get }

    /// Sends a request of one of ``DatabaseMethods``, once, and returns the answer.
    func send(
        _ request: WireMessage,
        to method: String,
        as caller: Caller
    ) async throws(SyncError) -> ReceivedMessage

    /// Sends the bytes of an asset, once; see `DatabaseService`.
    func uploadAsset<Pieces: AsyncSequence>(
        _ pieces: Pieces,
        _ request: UploadAssetRequest,
        as caller: Caller
    ) async throws(SyncError) -> AssetReference where Pieces.Element == [UInt8]

    /// Opens a download once; its pieces end with an error if the connection is lost.
    func downloadAsset(
        _ request: DownloadAssetRequest,
        as caller: Caller
    ) async throws(SyncError) -> AssetDownload

    /// Opens the stream of notifications after a token; it ends with an error if the connection is
    /// lost.
    func notifications(
        since token: ChangeToken,
        as caller: Caller
    ) async throws(SyncError) -> AsyncThrowingStream<Subscription.Push, any Error>

    /// Opens the stream of the account's statuses; it ends with an error if the connection is lost.
    func accountStatuses(
        as caller: Caller
    ) async throws(SyncError) -> AsyncThrowingStream<AccountStatus, any Error>
}

extension ServiceTransport {
    /// False: the default for transports that are never closed.
    public var isClosed: Bool { false }
}

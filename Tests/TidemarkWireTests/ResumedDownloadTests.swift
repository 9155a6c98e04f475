// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Testing
import TidemarkLock
import TidemarkModel
import TidemarkWire

@Suite struct ResumedDownloadTests {
    /// A transport whose downloads announce three bytes, and have others.
    private final class MisstatingTransport: ServiceTransport {
        let pieces: Lock<[[UInt8]]>
        /// The error after the pieces; `nil` ends the download as a whole one.
        let end: SyncError?
        let form = WireForm.json

        init(_ pieces: [[UInt8]], endingWith end: SyncError?) {
            self.pieces = Lock(pieces)
            self.end = end
        }

        private static let unused = SyncError(.internalError, "Only downloads are made here.")

        func send(
            _ request: WireMessage,
            to method: String,
            as caller: Caller
        ) async throws(SyncError) -> ReceivedMessage { throw Self.unused }

        func uploadAsset<Pieces: AsyncSequence>(
            _ pieces: Pieces,
            _ request: UploadAssetRequest,
            as caller: Caller
        ) async throws(SyncError) -> AssetReference where Pieces.Element == [UInt8] {
            throw Self.unused
        }

        func downloadAsset(
            _ request: DownloadAssetRequest,
            as caller: Caller
        ) async throws(SyncError) -> AssetDownload {
            AssetDownload(byteCount: 3, range: 0..<3) { () throws(SyncError) in
                let piece = self.pieces.withLock { $0.isEmpty ? nil : $0.removeFirst() }
                if piece == nil, let end = self.end { throw end }
                return piece
            }
        }

        func notifications(
            since token: ChangeToken,
            as caller: Caller
        ) async throws(SyncError) -> AsyncThrowingStream<Subscription.Push, any Error> {
            throw Self.unused
        }

        func accountStatuses(
            as caller: Caller
        ) async throws(SyncError) -> AsyncThrowingStream<AccountStatus, any Error> {
            throw Self.unused
        }
    }

    private static func download(
        _ pieces: [[UInt8]],
        endingWith end: SyncError? = nil
    ) async throws -> [UInt8] {
        let service = RemoteService(
            over: MisstatingTransport(pieces, endingWith: end),
            patience: Patience { _ in }
        )
        let request = DownloadAssetRequest(RecordID(recordName: "r"), field: "file")
        return try await service.downloadAsset(request, as: Caller()).bytes()
    }

    @Test func `A download with other bytes than announced fails`() async throws {
        #expect(try await Self.download([[1, 2], [3]]) == [1, 2, 3])
        let lost = SyncError(.networkFailure, "The connection was lost.")
        let cases: [([[UInt8]], SyncError?)] = [
            ([[1, 2], [3, 4]], lost), ([[1, 2, 3, 4]], nil), ([[1]], nil),
        ]
        for (pieces, end) in cases {
            let error = try await #require(throws: SyncError.self) {
                try await Self.download(pieces, endingWith: end)
            }
            #expect(error.code == .internalError, "\(error)")
        }
    }
}

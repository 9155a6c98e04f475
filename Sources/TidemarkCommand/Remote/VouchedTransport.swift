// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkAdministration
import TidemarkModel
import TidemarkWire

/// The way to a `DatabaseService` through the calls of an operator, who vouches for its users.
struct VouchedTransport: ServiceTransport {
    private let administration: any AdministrationService

    /// Returns the service for apps of a server that answers operators.
    static func service(by administration: any AdministrationService) -> any DatabaseService {
        RemoteService(
            over: Self(administration: administration),
            patience: Patience(repetitions: 2)
        )
    }

    var form: WireForm { .json }

    func send(
        _ request: WireMessage,
        to method: String,
        as caller: Caller
    ) async throws(SyncError) -> ReceivedMessage {
        let text = String(decoding: request.bytes, as: UTF8.self)
        let answer = try await answer(MethodCall(method, text, as: caller))
        return ReceivedMessage(.json, Array(answer.utf8))
    }

    func uploadAsset<Pieces: AsyncSequence>(
        _ pieces: Pieces,
        _ request: UploadAssetRequest,
        as caller: Caller
    ) async throws(SyncError) -> AssetReference where Pieces.Element == [UInt8] {
        let bytes = try await Self.bytes(of: pieces)
        return try await answer(UploadAssetCall(bytes, request, as: caller))
    }

    /// Returns the bytes of an asset, which go to a server in one call.
    static func bytes<Pieces: AsyncSequence>(
        of pieces: Pieces
    ) async throws(SyncError) -> [UInt8] where Pieces.Element == [UInt8] {
        var bytes: [UInt8] = []
        do {
            for try await piece in pieces {
                bytes += piece
                if bytes.count > UploadAssetCall.byteLimit { break }
            }
        } catch {
            throw SyncError(.internalError, "The bytes of the asset cannot be read: \(error).")
        }
        guard bytes.count <= UploadAssetCall.byteLimit else {
            throw SyncError(
                .limitExceeded,
                "A command sends a server at most \(UploadAssetCall.byteLimit) bytes of an asset.",
                remedy: "Stop the server, and run the command on the store's folder."
            )
        }
        return bytes
    }

    private func answer<Call: AdministrationCall>(
        _ call: Call
    ) async throws(SyncError) -> Call.Answer where Call.Piece == Never {
        do {
            return try await administration.answer(call)
        } catch let error as SyncError {
            throw error
        } catch is CancellationError {
            throw SyncError(.operationCancelled, "The call was cancelled.")
        } catch {
            throw SyncError(.internalError, "The call failed: \(error).")
        }
    }

    func downloadAsset(
        _ request: DownloadAssetRequest,
        as caller: Caller
    ) async throws(SyncError) -> AssetDownload {
        throw Self.noStream
    }

    func notifications(
        since token: ChangeToken,
        as caller: Caller
    ) async throws(SyncError) -> AsyncThrowingStream<Subscription.Push, any Error> {
        throw Self.noStream
    }

    func accountStatuses(
        as caller: Caller
    ) async throws(SyncError) -> AsyncThrowingStream<AccountStatus, any Error> {
        throw Self.noStream
    }

    // No command reads these.
    private static let noStream = SyncError(
        .invalidArguments,
        "Operators have no calls for the streams of apps.",
        remedy: "Connect to the server as an app."
    )
}

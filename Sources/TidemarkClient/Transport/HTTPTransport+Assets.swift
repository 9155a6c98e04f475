// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Client
public import TidemarkModel
import TidemarkWire

extension HTTPTransport {
    /// See `ServiceTransport`.
    public func uploadAsset<Pieces: AsyncSequence>(
        _ pieces: Pieces,
        _ request: UploadAssetRequest,
        as caller: Caller
    ) async throws(SyncError) -> AssetReference where Pieces.Element == [UInt8] {
        let channel = PieceChannel()
        var call = ServerCall("uploadAsset", .pieces(channel), as: caller)
        let (text, json) = try HeaderValue.text(of: request)
        call.headers.append((HeaderValue.request, text))
        // A signature is made before the first piece is known, so it covers the request in the
        // header.
        call.signedJSON = json
        call.takesLong = true
        // Two sides work at once: this task sends what the channel holds, and the caller's task
        // feeds it. Only the caller's task may use `pieces`, which need not be `Sendable`.
        let sending = Task { [connection, call] in
            // The server may answer before it has read everything: then the rest is not read.
            defer { channel.end() }
            return try await connection.send(call).message()
        }
        do {
            let answer = try await withTaskCancellationHandler {
                // If the server answers early, or the task is cancelled, the task above ends the
                // channel, and the rest of the pieces is not read.
                try await feed(pieces, to: channel)
                return try await sending.value
            } onCancel: {
                sending.cancel()
            }
            return try WireCoding.value(AssetReference.self, from: answer.bytes)
        } catch let error as SyncError {
            throw error
        } catch is DecodingError {
            throw .unreadable("The answer to an upload cannot be read.")
        } catch {
            // Also an error of the app's own pieces, without which the upload cannot continue.
            throw SyncError(.operationCancelled, "The upload was cancelled: \(error).")
        }
    }

    /// Passes pieces on, each when the one before was taken.
    private func feed<Pieces: AsyncSequence>(
        _ pieces: Pieces,
        to channel: PieceChannel
    ) async throws where Pieces.Element == [UInt8] {
        do {
            for try await piece in pieces where !piece.isEmpty {
                await channel.pieces.send(piece)
                if channel.hasEnded { break }
            }
            channel.pieces.finish()
        } catch {
            channel.pieces.fail(error)
            throw error
        }
    }

    /// See `ServiceTransport`.
    public func downloadAsset(
        _ request: DownloadAssetRequest,
        as caller: Caller
    ) async throws(SyncError) -> AssetDownload {
        let answer = try await open("downloadAsset", request, as: caller)
        let frames = FramedPieces(answer.pieces())
        let head = answer.header(HeaderValue.answer)
            .flatMap { HeaderValue.value(DownloadHead.self, from: $0) }?.value
        let download = head?.download { () throws(SyncError) in try await frames.next() }
        guard let download else {
            throw .unreadable("The server does not say which part of the asset it sends.")
        }
        return download
    }
}

/// The pieces of an asset, taken out of an answer's body.
private actor FramedPieces {
    private let take: @Sendable () async throws(SyncError) -> [UInt8]?
    private var reader = PieceReader()

    init(_ take: @escaping @Sendable () async throws(SyncError) -> [UInt8]?) {
        self.take = take
    }

    func next() async throws(SyncError) -> [UInt8]? {
        while true {
            switch try reader.next() {
            case .piece(let piece): return piece
            case .end: return nil
            case .starved:
                // The end of the body proves nothing: `finish` throws unless the last frame has
                // arrived.
                guard let bytes = try await take() else {
                    try reader.finish()
                    return nil
                }
                reader.append(bytes)
            }
        }
    }
}
#endif

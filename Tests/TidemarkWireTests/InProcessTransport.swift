// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import TidemarkModel
import TidemarkWire

/// A transport to a service in the same process: everything goes through bytes, and connections are lost by seed.
///
/// It stands for a server: it knows the one user who has signed in, and refuses to speak for another.
struct InProcessTransport: ServiceTransport {
    let service: any DatabaseService
    let user: UserID?
    let losses: Losses
    var form = WireForm.json

    /// Makes the call on the other side, where the connection is not lost before; may lose the answer.
    private func carry<Answer>(
        _ caller: Caller,
        _ body: (Caller) async throws(SyncError) -> Answer
    ) async throws(SyncError) -> Answer {
        let loss = await losses.next()
        if loss == .request { throw Losses.lost }
        let answer = try await body(try received(caller))
        if loss == .answer { throw Losses.lost }
        return answer
    }

    /// The caller as the other side reads it.
    private func received(_ caller: Caller) throws(SyncError) -> Caller {
        var received: Caller
        do {
            received = try JSONDecoder().decode(Caller.self, from: JSONEncoder().encode(caller))
        } catch {
            throw SyncError(.internalError, "\(error)")
        }
        guard received.user == user else {
            throw SyncError(.notAuthenticated, "The user has not signed in.")
        }
        if user != nil { received.authentication = .session(id: "s1") }
        return received
    }

    func send(
        _ request: WireMessage,
        to method: String,
        as caller: Caller
    ) async throws(SyncError) -> ReceivedMessage {
        try await carry(caller) { (caller) throws(SyncError) in
            guard let method = DatabaseMethods.named(method) else {
                throw SyncError(.invalidArguments, "There is no method '\(method)'.")
            }
            do throws(SyncError) {
                let answer = try await method.answer(
                    to: ReceivedMessage(request.form, request.bytes),
                    in: request.form,
                    by: service,
                    as: caller
                )
                return ReceivedMessage(answer.form, answer.bytes)
            } catch {
                throw try coded(error)
            }
        }
    }

    /// The error as it comes out of bytes.
    private func coded(_ error: SyncError) throws(SyncError) -> SyncError {
        do {
            return try JSONDecoder().decode(SyncError.self, from: JSONEncoder().encode(error))
        } catch {
            throw SyncError(.internalError, "\(error)")
        }
    }

    func uploadAsset<Pieces: AsyncSequence>(
        _ pieces: Pieces,
        _ request: UploadAssetRequest,
        as caller: Caller
    ) async throws(SyncError) -> AssetReference where Pieces.Element == [UInt8] {
        try await service.uploadAsset(pieces, request, as: try received(caller))
    }

    func downloadAsset(
        _ request: DownloadAssetRequest,
        as caller: Caller
    ) async throws(SyncError) -> AssetDownload {
        let download = try await carry(caller) { (caller) throws(SyncError) in
            try await service.downloadAsset(request, as: caller)
        }
        let losses = losses
        return AssetDownload(
            byteCount: download.byteCount,
            range: download.range,
            changeTag: download.changeTag
        ) { () throws(SyncError) in
            if await losses.next() != .none { throw Losses.lost }
            var pieces = download.makeAsyncIterator()
            return try await pieces.next()
        }
    }

    func notifications(
        since token: ChangeToken,
        as caller: Caller
    ) async throws(SyncError) -> AsyncThrowingStream<Subscription.Push, any Error> {
        losing(
            try await carry(caller) { (caller) throws(SyncError) in
                try await service.notifications(since: token, as: caller)
            }
        )
    }

    func accountStatuses(
        as caller: Caller
    ) async throws(SyncError) -> AsyncThrowingStream<AccountStatus, any Error> {
        losing(
            try await carry(caller) { (caller) throws(SyncError) in
                try await service.accountStatuses(as: caller)
            }
        )
    }

    /// A stream whose connection can be lost before each element.
    private func losing<Element: Sendable>(
        _ stream: AsyncThrowingStream<Element, any Error>
    ) -> AsyncThrowingStream<Element, any Error> {
        let losses = losses
        return AsyncThrowingStream {
            var elements = stream.makeAsyncIterator()
            let element = try await elements.next(isolation: nil)
            if await losses.next() != .none { throw Losses.lost }
            return element
        }
    }
}

/// The connections that are lost, by seed.
actor Losses {
    enum Loss { case none, request, answer }

    static let lost = SyncError(.networkFailure, "The connection was lost.")

    private var random: SeededGenerator
    private let percent: Int
    private(set) var count = 0

    init(seed: UInt64, percent: Int) {
        random = SeededGenerator(seed: seed)
        self.percent = percent
    }

    func next() -> Loss {
        guard Int.random(in: 0..<100, using: &random) < percent else { return .none }
        count += 1
        return Bool.random(using: &random) ? .request : .answer
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Client
public import TidemarkModel
import TidemarkWire

extension HTTPTransport {
    /// See `ServiceTransport`.
    public func notifications(
        since token: ChangeToken,
        as caller: Caller
    ) async throws(SyncError) -> AsyncThrowingStream<Subscription.Push, any Error> {
        try await stream("notifications", NotificationChangesRequest(since: token), as: caller)
    }

    /// See `ServiceTransport`.
    public func accountStatuses(
        as caller: Caller
    ) async throws(SyncError) -> AsyncThrowingStream<AccountStatus, any Error> {
        try await stream("accountStatuses", Nothing(), as: caller)
    }

    private func stream<Element: Codable & Sendable>(
        _ method: String,
        _ request: some Encodable,
        as caller: Caller
    ) async throws(SyncError) -> AsyncThrowingStream<Element, any Error> {
        let lines = StreamLines<Element>(try await open(method, request, as: caller).pieces())
        return AsyncThrowingStream { try await lines.next() }
    }
}

/// The elements of a stream, taken out of an answer's body.
private actor StreamLines<Element: Codable & Sendable> {
    private let take: @Sendable () async throws(SyncError) -> [UInt8]?
    private var splitter = LineSplitter()
    private var hasEnded = false

    init(_ take: @escaping @Sendable () async throws(SyncError) -> [UInt8]?) {
        self.take = take
    }

    func next() async throws(SyncError) -> Element? {
        while !hasEnded {
            guard let line = splitter.next() else {
                // A body that ends without a last line was cut off, also if it ended cleanly:
                // proxies end bodies too. `ResumedStream` then opens the stream again.
                guard let piece = try await take() else {
                    throw SyncError(
                        .networkFailure,
                        "The connection was lost before the server's stream ended."
                    )
                }
                try splitter.append(piece)
                continue
            }
            // A beat. It has reset the read timeout, and says nothing else.
            if line.isEmpty { continue }
            switch try StreamLine<Element>(line) {
            case .element(let element): return element
            case .failure(let error): throw error
            case .end: hasEnded = true
            }
        }
        return nil
    }
}
#endif

// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Client
import AsyncAlgorithms
import TidemarkLock
import TidemarkModel
import TidemarkWire

/// A request to a server, before it has a credential.
struct ServerCall: Sendable {
    /// The bytes of a request.
    enum Body: Sendable {
        case message(WireMessage)
        case pieces(PieceChannel)
    }

    /// The path, percent-encoded, beginning with a slash.
    var path: String
    /// Members of the query, not encoded.
    var query: [(name: String, value: String)] = []
    /// The headers in addition to those of the credential and the body.
    var headers: [(name: String, value: String)] = []
    /// The body.
    var body: Body
    /// True if the call is sent without a signed-in user.
    var isAnonymous = false
    /// True for streams, uploads and downloads, which have connections of their own.
    var takesLong = false
    /// The JSON that is signed in place of the body; `nil` for the body itself.
    var signedJSON: [UInt8]?

    /// Creates a request.
    init(_ path: String, _ body: Body) {
        self.path = path
        self.body = body
    }

    /// The bytes that a key signs.
    var signedBytes: [UInt8] {
        if let signedJSON { return signedJSON }
        // Writes the message once more than it is sent. Only the credential of a key needs this.
        return if case .message(let message) = body { message.bytes } else { [] }
    }
}

/// Pieces on their way into a request's body, at most one of them waiting.
final class PieceChannel: Sendable {
    // A channel holds no elements: `send` waits until the connection takes the piece. An upload
    // therefore reads its source no faster than the network.
    let pieces = AsyncThrowingChannel<[UInt8], any Error>()
    private let isOver = Lock(false)

    /// True once the request has ended, after which nobody takes a piece.
    var hasEnded: Bool { isOver.withLock { $0 } }

    /// Ends the request: a piece that waits is dropped.
    func end() {
        isOver.withLock { $0 = true }
        pieces.finish()
    }
}

/// The answer of a server to a request that succeeded.
struct ServerAnswer: Sendable {
    let answer: IncomingAnswer
    let byteLimit: Int

    /// Returns the value of a header; `nil` if it does not exist.
    func header(_ name: String) -> String? { answer.header(name) }

    /// Returns the whole body, and its form.
    func message() async throws(SyncError) -> ReceivedMessage {
        let form = header("Content-Type").flatMap { WireForm(mediaType: $0) }
        guard let form else {
            throw SyncError(
                .internalError,
                "The answer has the media type '\(header("Content-Type") ?? "")', which a Tidemark "
                    + "server never sends.",
                remedy: "Check the server's address, and any proxy in front of it."
            )
        }
        return ReceivedMessage(form, try await answer.body.all(upTo: byteLimit))
    }

    /// Begins to read the body piece by piece.
    func pieces() -> @Sendable () async throws(SyncError) -> [UInt8]? {
        answer.body.pieces()
    }
}
#endif

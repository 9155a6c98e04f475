// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Client
import AsyncAlgorithms
import TidemarkModel
import TidemarkWire

/// A request on its way out, with the method POST.
struct OutgoingRequest: Sendable {
    enum Body: Sendable {
        case message(WireMessage)
        /// Pieces one after another, each sent before the next is requested.
        case pieces(AsyncThrowingChannel<[UInt8], any Error>)
    }

    var url: String
    var headers: [(name: String, value: String)]
    var body: Body
    /// The time in which the answer must begin; `nil` leaves it to the pauses that the sender allows
    /// after the request was sent.
    var timeout: Duration?
}

/// An answer whose body has not arrived yet.
struct IncomingAnswer: Sendable {
    let status: Int
    /// The values of a header, by any spelling of its name.
    let header: @Sendable (String) -> String?
    let body: any IncomingBody
}

/// The body of an answer; it is read once, by one of the two functions.
protocol IncomingBody: Sendable {
    /// Reads the whole body, up to a limit.
    func all(upTo limit: Int) async throws(SyncError) -> [UInt8]
    /// Begins to read the body piece by piece: each call returns the next piece, `nil` after the
    /// last.
    func pieces() -> @Sendable () async throws(SyncError) -> [UInt8]?
}

/// A sender of requests over HTTP, behind which a system's own networking can replace
/// AsyncHTTPClient.
///
/// An answer of any status is returned; an error means that there was no answer.
protocol HTTPSender: Sendable {
    func send(_ request: OutgoingRequest) async throws(SyncError) -> IncomingAnswer
    /// Ends connections; requests that have not been answered fail.
    func close() async
}
#endif

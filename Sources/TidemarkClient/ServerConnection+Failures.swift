// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Client
import TidemarkModel
import TidemarkWire

extension ServerConnection {
    /// The maximum bytes of an error: a conflict contains three records.
    private static let errorByteLimit = 16 << 20

    /// Returns the error in an answer, or the error for its status if another program wrote the
    /// answer.
    func failure(_ answer: IncomingAnswer) async -> SyncError {
        let body: [UInt8]
        do throws(SyncError) {
            body = try await answer.body.all(upTo: Self.errorByteLimit)
        } catch {
            return error
        }
        // A server without the binary form answers 415 and does nothing. `RemoteService` then sends
        // the request again as JSON.
        if answer.status == 415 { useJSON() }
        // A Tidemark server sends its whole error. Anything else is the answer of a proxy or of
        // another program, of which only the status is understood.
        if let error = SyncError(wire: body) { return error }
        var wait = answer.header("Retry-After").flatMap { Int($0) }.map { Duration.seconds($0) }
        let (code, remedy): (SyncError.Code, String?) =
            switch answer.status {
            case 401, 421: (.notAuthenticated, nil)
            case 403: (.permissionFailure, nil)
            case 413: (.limitExceeded, nil)
            case 429: (.requestRateLimited, nil)
            // A proxy got no answer, so it is unknown if the request arrived.
            case 502, 504: (.networkFailure, nil)
            case 408, 425, 500, 503, 520...: (.serviceUnavailable, nil)
            default:
                (
                    .incompatibleVersion,
                    "Check that \(address) is a Tidemark server, and that it is not older than this client."
                )
            }
        // With a short `Retry-After`, the call is repeated. Without one the error is thrown to the app at
        // once (`Patience`), and what runs by itself tries again later.
        if code == .serviceUnavailable { wait = wait ?? .seconds(15) }
        return SyncError(
            code,
            "The server at \(address) answered with status \(answer.status), without an error text.",
            retryAfter: wait,
            remedy: remedy
        )
    }
}
#endif

// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import HTTPTypes
import Hummingbird
import TidemarkModel
import TidemarkWire

/// A request of an app on its way to its answer.
struct AppCall {
    let incoming: Incoming
    /// The origin of the page that asks; `nil` if it may not read the answer.
    fileprivate(set) var origin: String?
    var line: RequestLine
    /// The token of the app; `nil` if the request names none.
    fileprivate(set) var token: APIToken?
    /// The session of the sender, once it is known.
    fileprivate var session: Session?

    init(_ incoming: Incoming, _ span: RequestSpan) {
        self.incoming = incoming
        origin = incoming.origin
        line = RequestLine(incoming, span)
    }
}

extension Server {
    /// Identifies the app of a request, applies its limits, and returns the answer of a closure or that to
    /// an error.
    func answer(
        _ call: AppCall,
        by respond: (inout AppCall) async throws(WebError) -> Response
    ) async -> Response {
        var call = call
        let incoming = call.incoming
        metrics.begins()
        var response: Response
        do throws(WebError) {
            // Before the limits: only the token's origins tell if a page may read the answer, and
            // that holds for errors too.
            call.token = try await callers.token(incoming)
            // Without the headers of `allow`, a browser does not show the answer to a page of that
            // origin.
            if let token = call.token, let asking = call.origin, !token.allows(asking) {
                call.origin = nil
            }
            if incoming.head.method == .options {
                call.line.endpoint = "preflight"
                response = .preflight(incoming, call.origin)
            } else {
                try limits.take(.address, of: incoming.address)
                try limits.take(.token, of: call.token?.id.text)
                response = try await respond(&call)
            }
        } catch {
            var failure = error
            if failure.code == "AUTHENTICATION_REQUIRED", let token = call.token {
                failure.redirectURL = signInURL(token, incoming)
            }
            call.line.fails(failure)
            response = Response(failure, incoming)
        }
        // Also with an error: if tokens are valid once, the request has used up the previous one.
        if let session = call.session { response.add(webToken: directory.webToken(of: session)) }
        if let origin = call.origin { response.allow(origin) }
        call.line.end(metrics, requestLog, status: response.status.code)
        return response
    }

    /// Finds the sender of a request, and applies the sender's limits.
    func findSender(
        _ call: inout AppCall,
        _ body: [UInt8],
        for place: Callers.Place
    ) async throws(WebError) -> Callers.Found {
        let found = try await callers.find(call.incoming, body, call.token, for: place)
        call.line.caller = found.caller
        call.session = found.session
        try limits.take(found.caller)
        return found
    }
}
#endif

// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import HTTPTypes
import Hummingbird

/// A responder that answers most requests to databases itself, and passes the others to a router.
///
/// A router compares the parts of a path with those of its routes, character by character. That
/// costs more than looking up a record.
struct DirectResponder: HTTPResponder {
    let server: Server
    let router: RouterResponder<ServerContext>

    func respond(to request: Request, context: ServerContext) async throws -> Response {
        guard Self.isDirect(request.method, request.head.path ?? "") else {
            return try await router.respond(to: request, context: context)
        }
        return await server.answerWebServices(request, context)
    }

    /// The requests that need neither a router nor what Hummingbird knows of their connection.
    static func direct(_ server: Server) -> DirectAnswers {
        DirectAnswers { head in
            // Hummingbird closes connections and switches protocols.
            isDirect(head.method, head.path ?? "") && PushEndpoint(head) == nil
                && head.headerFields[.connection]?.lowercased() ?? "keep-alive" == "keep-alive"
        } answer: { head, body, address in
            await server.answerDatabase(head, .whole(body), from: address)
        }
    }

    /// Returns true if the router would pass a request to `Server.answerWebServices` too.
    ///
    /// False for unusual requests, about which the router decides.
    static func isDirect(_ method: HTTPRequest.Method, _ target: String) -> Bool {
        let prefix = "/database/1/"
        guard method == .post || method == .get, target.hasPrefix(prefix),
            // The route needs a further part.
            let next = target.utf8.dropFirst(prefix.utf8.count).first
        else { return false }
        return next != UInt8(ascii: "/") && next != UInt8(ascii: "?")
    }
}
#endif

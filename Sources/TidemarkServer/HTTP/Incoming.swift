// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import HTTPTypes
import Hummingbird
import NIOCore
import TidemarkModel
import TidemarkWire

/// The body of a request as it arrives.
enum ReceivedBody: Sendable {
    /// All of it.
    case whole(ByteBuffer)
    /// Parts, which are read from the connection.
    case parts(RequestBody)
}

/// A request as it arrived, before its sender is known.
///
/// A class: many steps of a request keep it, and each copy of a struct would count a dozen
/// references.
final class Incoming: Sendable {
    let head: HTTPRequest
    let body: ReceivedBody
    /// The id of this request and its answer.
    let uuid: String
    /// Path and query, as they were sent.
    let target: String
    /// The parts of the path, decoded.
    let path: [String]
    let query: QueryMembers
    /// The server's address in its options.
    private let publicURL: String?
    private let isSecure: Bool
    private let forwardedAddress: String?
    private let socketAddress: SocketAddress?
    /// The trace that a commit of the request belongs to.
    let trace: TraceContext?

    // This runs for every request, before anything is authenticated, so each member is a copy or
    // one pass over the target.
    init(
        _ head: HTTPRequest,
        _ body: ReceivedBody,
        _ options: ServerOptions,
        from socketAddress: SocketAddress? = nil,
        trace: TraceContext? = nil
    ) {
        self.head = head
        self.body = body
        self.socketAddress = socketAddress
        // The last entry is the proxy's; those before it come from the client and are not trusted.
        forwardedAddress =
            options.trustsProxy
            ? head.headerFields[.forwardedFor]?.split(separator: ",").last?.filter { $0 != " " }
            : nil
        // An invalid header is ignored, as the specification of `traceparent` demands.
        self.trace =
            trace ?? head.headerFields[.traceparent].flatMap { TraceContext(traceparent: $0) }
        var random = RequestRandom()
        uuid = UniqueName.make(using: &random)
        target = head.path ?? "/"
        let parts = PercentCoding.split(target: target)
        path = parts.path
        query = parts.query
        publicURL = options.publicURL
        isSecure = options.certificate != nil
    }

    convenience init(
        _ request: Request,
        _ options: ServerOptions,
        from socketAddress: SocketAddress? = nil,
        trace: TraceContext? = nil
    ) {
        self.init(request.head, .parts(request.body), options, from: socketAddress, trace: trace)
    }

    /// The address of the server as this client sees it: scheme, host and port.
    var baseURL: String {
        if let publicURL { return publicURL }
        let host = head.authority ?? "localhost"
        // The client chooses this text, and answers contain it. Only bytes of a host and a port are
        // accepted: 46, 58, 91 and 93 are `.`, `:`, `[` and `]`.
        let isHost = host.utf8.allSatisfy { $0.isASCIIWordByte || [46, 58, 91, 93].contains($0) }
        return (isSecure ? "https://" : "http://") + (isHost ? host : "localhost")
    }

    /// The parts of the body.
    var parts: RequestBody {
        switch body {
        case .whole(let bytes): RequestBody(buffer: bytes)
        case .parts(let parts): parts
        }
    }

    /// The address of the client, if it is known.
    var address: String? { forwardedAddress ?? socketAddress?.ipAddress }

    func header(_ name: HTTPField.Name) -> String? { head.headerFields[name] }

    /// The origin of the page that sent the request; `nil` if no page did.
    ///
    /// Pages without an origin of their own, such as those of a file, send `null`. A token with a
    /// list of origins does not allow them, because any site can show such a page.
    var origin: String? { header(.origin) }

    /// Refuses a form that a page of another origin sent.
    ///
    /// Such a page could otherwise act in the user's name. Browsers send `Origin` with forms. A request
    /// without it is no form of another site in a current browser; `SameSite` of the account's cookie
    /// covers old ones.
    func checkIsOwnForm() throws(WebError) {
        // `baseURL` may be written in another way than browsers write an origin.
        if let origin, origin != Origin.of(baseURL) {
            throw .accessDenied("The form came from another page.")
        }
    }

    /// The origin of the page whose script sent the request; `nil` if no script did, or if the page
    /// has no origin that a message can be sent to.
    ///
    /// A browser sends no `Origin` with a GET to the server that the page itself comes from, such
    /// as a proxy that has the page and this server. No script can set the fields that tell that.
    var scriptOrigin: String? {
        if let origin { return origin == "null" ? nil : origin }
        let isOwn = header(.fetchSite) == "same-origin" && header(.fetchDestination) == "empty"
        return isOwn ? baseURL : nil
    }

    /// The token in the header `Authorization`; `nil` if it is absent or has another scheme.
    var bearer: String? {
        let words = (header(.authorization) ?? "").split(separator: " ", maxSplits: 1)
        // Names of schemes have no case (RFC 9110). A scheme without a token is an empty token and
        // not an anonymous request.
        guard words.first?.lowercased() == "bearer" else { return nil }
        return words.count == 2 ? String(words[1]) : ""
    }

    /// True if the answer may contain Tidemark's extensions.
    var isExtended: Bool { header(.tidemarkExtensions) == "1" }
}
#endif

// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import HTTPTypes
import Hummingbird
import TidemarkModel
import TidemarkWire

/// A request as it arrived, before its sender is known.
struct Incoming {
    let request: Request
    /// The id of this request and its answer.
    let uuid: String
    /// Path and query, as they were sent.
    let target: String
    /// The parts of the path, decoded.
    let path: [String]
    let query: [String: String]
    /// The address of the server as this client sees it: scheme, host and port.
    let baseURL: String
    /// The address of the client, if it is known.
    let address: String?
    /// The trace that a commit of the request belongs to.
    var trace: TraceContext?

    init(_ request: Request, _ options: ServerOptions, from address: String? = nil) {
        self.request = request
        // The last entry is the proxy's; those before it come from the client and are not trusted.
        let forwarded = HTTPField.Name("X-Forwarded-For").flatMap { request.headers[$0] }?
            .split(separator: ",").last?.filter { $0 != " " }
        self.address = options.trustsProxy ? forwarded ?? address : address
        trace = HTTPField.Name("traceparent").flatMap { request.headers[$0] }
            .flatMap { TraceContext(traceparent: $0) }
        uuid = UniqueName.make()
        target = request.head.path ?? "/"
        let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        path = parts[0].split(separator: "/").map { PercentCoding.decoded($0) }
        query = parts.count > 1 ? PercentCoding.query(parts[1]) : [:]
        baseURL = options.publicURL ?? Self.baseURL(request, isSecure: options.certificate != nil)
    }

    private static func baseURL(_ request: Request, isSecure: Bool) -> String {
        let host = request.head.authority ?? "localhost"
        let isHost = host.utf8.allSatisfy { $0.isASCIIWordByte || [46, 58, 91, 93].contains($0) }
        return (isSecure ? "https://" : "http://") + (isHost ? host : "localhost")
    }

    func header(_ name: String) -> String? {
        HTTPField.Name(name).flatMap { request.headers[$0] }
    }

    /// The origin of the page that sent the request; `nil` if no page did.
    var origin: String? { header("Origin").flatMap { $0 == "null" ? nil : $0 } }

    /// True if the answer may contain Tidemark's extensions.
    var isExtended: Bool { header("X-Tidemark-Extensions") == "1" }
}
#endif

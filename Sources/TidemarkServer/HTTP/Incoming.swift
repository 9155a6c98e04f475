// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import HTTPTypes
import Hummingbird
import TidemarkModel
import TidemarkWire

/// A request as it came, before it is known who sent it.
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
    /// The address that the request comes from, if that is known.
    let address: String?
    /// The trace that a commit of the request belongs to.
    var trace: TraceContext?

    init(_ request: Request, _ options: ServerOptions, from address: String? = nil) {
        self.request = request
        // The last entry is the proxy's; those before it are what the client says of itself.
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

    /// The origin of the page that asks; `nil` where no page does.
    var origin: String? { header("Origin").flatMap { $0 == "null" ? nil : $0 } }

    /// True if the answer may hold what Apple's does not.
    var isExtended: Bool { header("X-Tidemark-Extensions") == "1" }
}

/// Decoding of paths and queries.
enum PercentCoding {
    /// Decodes `%` and two digits; a plus sign stays one.
    static func decoded(_ text: Substring) -> String {
        guard text.utf8.contains(UInt8(ascii: "%")) else { return String(text) }
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), rest.count >= 2,
                let value = UInt8(String(rest.prefix(2)) ?? "", radix: 16)
            {
                bytes.append(value)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The members of a query; of one that comes twice the first counts.
    static func query(_ text: Substring) -> [String: String] {
        var query: [String: String] = [:]
        for pair in text.split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = decoded(parts[0])
            if query[name] == nil { query[name] = parts.count > 1 ? decoded(parts[1]) : "" }
        }
        return query
    }

    /// The members of a form, in which a plus sign is a space.
    static func form(_ bytes: some Sequence<UInt8>) -> [String: String] {
        let text = String(decoding: Array(bytes).map { $0 == 43 ? 32 : $0 }, as: UTF8.self)
        return query(Substring(text))
    }

    /// Encodes everything but letters, digits, and `-._~`.
    static func encoded(_ text: String) -> String {
        var encoded = ""
        for byte in text.utf8 {
            if byte.isASCIIWordByte || byte == 46 || byte == 126 {
                encoded.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                encoded += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }
        return encoded
    }
}
#endif

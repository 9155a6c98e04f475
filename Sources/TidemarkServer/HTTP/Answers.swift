// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import HTTPTypes
import Hummingbird
import NIOCore
import TidemarkModel
import TidemarkWire

extension Response {
    /// Creates an answer of CloudKit Web Services.
    init(json body: [UInt8], status: HTTPResponse.Status = .ok, _ incoming: Incoming) {
        let isCoded = body.count >= Gzip.least && incoming.takesGzip
        let coded = isCoded ? Gzip.compressed(body) : nil
        var headers = Self.fieldsOfJSON
        if coded != nil { headers.append(HTTPField(name: .contentEncoding, value: "gzip")) }
        headers.append(HTTPField(name: .requestUUID, value: incoming.uuid))
        self.init(
            status: status,
            headers: headers,
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: coded ?? body))
        )
    }

    // Made once: the value of each new field is checked, and each field that is set is searched.
    private static let fieldsOfJSON: HTTPFields = [
        .contentType: "application/json; charset=UTF-8",
        .cacheControl: "no-store",
        .xContentTypeOptions: "nosniff",
        .vary: "Accept-Encoding",
        .cloudKitVersion: "1.0",
    ]

    /// Adds the token that a client sends with its next request.
    mutating func add(webToken: String) {
        // Not set by name, which would search the other fields.
        headers.append(HTTPField(name: .webAuthToken, value: webToken))
    }

    /// Creates the answer with the error of a request.
    init(_ error: WebError, _ incoming: Incoming) {
        self.init(
            json: error.body(uuid: incoming.uuid),
            status: HTTPResponse.Status(code: error.status),
            incoming
        )
        if let seconds = error.retryAfter { headers[.retryAfter] = String(seconds) }
    }

    /// Creates the answer with a page for people.
    ///
    /// `formTargets` are the origins to which its forms may lead in addition to its own.
    init(html: String, status: HTTPResponse.Status = .ok, formTargets: [String] = [], nonce: String)
    {
        // Some browsers apply `form-action` to redirects too: the answer to the sign-in form
        // redirects to the callback of the API token.
        let targets = (["'self'"] + formTargets).joined(separator: " ")
        self.init(
            status: status,
            headers: [
                .contentType: "text/html; charset=UTF-8",
                .cacheControl: "no-store",
                .xContentTypeOptions: "nosniff",
                // Only the style and the script with this page's nonce run. A name that was not
                // escaped could therefore show something, and execute nothing.
                .contentSecurityPolicy: "default-src 'none'; style-src 'nonce-\(nonce)'; "
                    + "script-src 'nonce-\(nonce)'; form-action \(targets); base-uri 'none'; "
                    + "frame-ancestors 'none'",
            ],
            body: ResponseBody(byteBuffer: ByteBuffer(string: html))
        )
        // With "no-referrer", browsers send forms with `Origin: null`, as if they came from another
        // page.
        headers[.referrerPolicy] = "same-origin"
    }

    /// Permits a page of another origin to read the answer.
    mutating func allow(_ origin: String) {
        // The origin by its name: browsers do not accept `*` together with credentials. `Vary`
        // keeps a cache from giving the answer to a page of another origin.
        headers[.accessControlAllowOrigin] = origin
        headers[.accessControlAllowCredentials] = "true"
        let vary = headers[.vary]
        if vary != "Origin" { headers[.vary] = vary.map { $0 + ", Origin" } ?? "Origin" }
        headers[.accessControlExposeHeaders] =
            "X-Apple-Request-UUID,X-Apple-CloudKit-Web-Auth-Token,X-Responding-Instance,Via"
    }

    /// Returns the answer to a browser's preflight request; `allow` adds the origin.
    static func preflight(_ incoming: Incoming, _ origin: String?) -> Response {
        var response = Response(status: .ok)
        // Without the fields below, the browser does not send the request that the preflight was
        // for.
        guard origin != nil else { return response }
        response.headers[.accessControlAllowMethods] = "GET, POST, PUT, OPTIONS"
        // Every requested header is allowed. The origin is the only condition: a page that may send
        // a request can also choose its headers.
        response.headers[.accessControlAllowHeaders] =
            incoming.header(.accessControlRequestHeaders) ?? "Content-Type"
        // Seconds. Without this field, the Fetch standard lets a browser keep the answer for five.
        response.headers[.accessControlMaxAge] = "3600"
        return response
    }

    /// Returns the answer in the form in which a request takes it.
    ///
    /// The answer to HEAD has no body. A client would take the bytes of one for the beginning of
    /// the next answer on its connection.
    func fitting(_ request: Request) -> Response {
        request.method == .head ? createHeadResponse() : self
    }

    /// Returns the answer to a method that a path does not have.
    static func wrongMethod(_ allowed: String, _ incoming: Incoming) -> Response {
        var response = Response(
            WebError("BAD_REQUEST", status: 405, "The methods of this path are \(allowed)."),
            incoming
        )
        response.headers[.allow] = allowed
        return response
    }
}

extension Incoming {
    /// Returns the whole body as it arrived, up to a limit.
    func collected(upTo limit: Int) async throws(WebError) -> [UInt8] {
        // Only an early rejection, before the body is read. A chunked body announces no length, so
        // its bytes are counted below.
        let length = head.headerFields[values: .contentLength].first.flatMap { Int($0) }
        if let length, length > limit { throw .tooLong(limit: limit) }
        if case .whole(let bytes) = body {
            guard bytes.readableBytes <= limit else { throw .tooLong(limit: limit) }
            return Array(bytes.readableBytesView)
        }
        do {
            // Straight into the bytes: `collect` has a buffer of its own, from which they would be
            // copied again.
            var bytes: [UInt8] = []
            for try await part in parts {
                guard part.readableBytes <= limit - bytes.count else {
                    throw WebError.tooLong(limit: limit)
                }
                bytes.append(contentsOf: part.readableBytesView)
            }
            return bytes
        } catch let error as WebError {
            throw error
        } catch is ExchangeHandler.BodyTimeout {
            throw WebError(
                "BAD_REQUEST",
                status: 408,
                "The body did not arrive in time. Send the request again."
            )
        } catch {
            throw WebError(
                "BAD_REQUEST",
                status: 400,
                "The body was cut off. Send the request again."
            )
        }
    }
}
#endif

// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Client
import TidemarkLock
public import TidemarkModel
import TidemarkWire

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A connection to a server: its address, a credential, and the sockets that requests share.
///
/// ``service`` is the `DatabaseService`. One connection serves one user; close it when it is not
/// needed any more.
public final class ServerConnection: Sendable {
    /// The server's address, without a slash at its end.
    public let address: String
    let options: ConnectionOptions
    private let credentials: Credentials
    private let requests: any HTTPSender
    private let streams: any HTTPSender
    private let state: Lock<State>

    private struct State {
        var webAuthToken: String?
        var bearer: String?
        /// True once the server has reported that it does not support the binary form.
        var isJSONOnly = false
        var isClosed = false
    }

    /// The maximum number of concurrent streams, uploads and downloads, each with its own
    /// connection.
    private static let streamLimit = 10_000

    /// Creates a connection to a server at an address such as `https://sync.example.org`; sends
    /// nothing yet.
    ///
    /// Throws `invalidArguments` for an invalid address, or one that is not HTTP.
    public convenience init(
        to address: String,
        credentials: Credentials,
        options: ConnectionOptions = ConnectionOptions()
    ) throws(SyncError) {
        let options = options.resolved(for: try Self.host(of: address))
        // Two clients: open streams must not use up the connections for requests.
        try self.init(
            to: address,
            credentials: credentials,
            options: options,
            requests: AsyncHTTPSender(
                options,
                connectionLimit: options.connectionLimit,
                pause: options.requestTimeout
            ),
            streams: AsyncHTTPSender(
                options,
                connectionLimit: Self.streamLimit,
                pause: options.streamTimeout
            )
        )
    }

    init(
        to address: String,
        credentials: Credentials,
        options: ConnectionOptions,
        requests: any HTTPSender,
        streams: any HTTPSender
    ) throws(SyncError) {
        _ = try Self.host(of: address)
        self.address = String(address.reversed().drop { $0 == "/" }.reversed())
        self.options = options
        self.credentials = credentials
        self.requests = requests
        self.streams = streams
        var state = State(isJSONOnly: !options.usesBinaryForm)
        if case .apiToken(_, let token) = credentials.kind { state.webAuthToken = token }
        if case .bearer(let token, _) = credentials.kind { state.bearer = token }
        self.state = Lock(state)
    }

    /// Returns the host of a server's address.
    private static func host(of address: String) throws(SyncError) -> String {
        guard let parts = URLComponents(string: address), let host = parts.host, !host.isEmpty,
            // Paths are appended to this text, so nothing may stand after the path in it.
            ["http", "https"].contains(parts.scheme?.lowercased()), parts.user == nil,
            parts.query == nil, parts.fragment == nil
        else {
            throw SyncError(
                .invalidArguments,
                "'\(address)' is not the address of a server; write https://HOST or http://HOST:PORT."
            )
        }
        return host
    }

    /// The last web auth token from the server; `nil` if nobody has signed in.
    public var webAuthToken: String? { state.withLock { $0.webAuthToken } }

    /// Replaces the token of ``Credentials/bearer(_:apiToken:)``, before or after it has expired.
    ///
    /// Streams that are open end with the earlier token. With other credentials this does nothing.
    public func renewBearer(_ token: String) {
        state.withLock { state in
            if state.bearer != nil { state.bearer = token }
        }
    }

    /// The form in which requests are sent.
    var form: WireForm { state.withLock { $0.isJSONOnly ? .json : .records } }

    /// Notes that the server does not have the binary form.
    func useJSON() { state.withLock { $0.isJSONOnly = true } }

    /// True once the connection is being closed.
    var isClosed: Bool { state.withLock { $0.isClosed } }

    /// Ends it: requests that were not answered fail, and streams end.
    public func close() async {
        // First: a stream that ends now must not resume.
        state.withLock { $0.isClosed = true }
        await streams.close()
        await requests.close()
    }

    /// Sends a request, once, under the connection's credential.
    ///
    /// An answer of a status other than 200 is thrown as the error that it holds.
    func send(_ call: ServerCall) async throws(SyncError) -> ServerAnswer {
        var headers = call.headers
        let body: OutgoingRequest.Body
        var timeout: Duration? = call.takesLong ? options.streamTimeout : options.requestTimeout
        switch call.body {
        case .message(let message):
            body = .message(message)
            headers.append(("Content-Type", message.form.mediaType))
        case .pieces(let channel):
            body = .pieces(channel.pieces)
            // The answer to an upload begins after its last piece, however long that takes.
            timeout = nil
            headers.append(("Content-Type", "application/octet-stream"))
        }
        let url = address + authorize(call, &headers)
        let request = OutgoingRequest(url: url, headers: headers, body: body, timeout: timeout)
        // The token is read before this wait. Requests that run at the same time may carry the same
        // token, which a server with the rotation `strict` accepts once.
        let answer: IncomingAnswer
        do throws(SyncError) {
            answer = try await (call.takesLong ? streams : requests).send(request)
        } catch {
            // The library reports the end of the connection as a cancelled request.
            guard error.code == .operationCancelled, isClosed, !Task.isCancelled else {
                throw error
            }
            throw SyncError(
                .serviceUnavailable,
                "The connection was closed before the answer.",
                remedy: "Open a new connection."
            )
        }
        // Also from an answer with an error: if tokens are valid once, the previous one is used up.
        if let token = answer.header("X-Apple-CloudKit-Web-Auth-Token") { keep(token) }
        guard answer.status == 200 else { throw await failure(answer) }
        return ServerAnswer(answer: answer, byteLimit: options.answerByteLimit)
    }

    /// Adds the credential to a request; returns its path and query.
    private func authorize(
        _ call: ServerCall,
        _ headers: inout [(name: String, value: String)]
    ) -> String {
        var query = call.query
        switch credentials.kind {
        case .apiToken(let token, _):
            query.append(("ckAPIToken", token))
            if !call.isAnonymous, let token = webAuthToken {
                query.append(("ckWebAuthToken", token))
            }
        case .bearer(_, let apiToken):
            if let apiToken { query.append(("ckAPIToken", apiToken)) }
            if !call.isAnonymous, let token = state.withLock({ $0.bearer }) {
                headers.append(("Authorization", "Bearer \(token)"))
            }
        case .serverKey(let id, let key):
            headers += RequestSigning.headers(
                keyID: id,
                key,
                path: call.path,
                body: call.signedBytes
            )
        }
        // A key signs the path without the query, as Apple's documentation describes.
        guard !query.isEmpty else { return call.path }
        let pairs = query.map { "\($0.name)=\(PercentCoding.encoded($0.value))" }
        return call.path + "?" + pairs.joined(separator: "&")
    }

    private func keep(_ token: String) {
        let isNew = state.withLock { state in
            // Without a token the connection is anonymous, or has another credential, and stays so.
            guard state.webAuthToken != nil, state.webAuthToken != token else { return false }
            state.webAuthToken = token
            return true
        }
        // Outside of the lock: the closure is the app's, and may read `webAuthToken`. Two answers
        // may call it in any order.
        if isNew { options.onWebAuthToken?(token) }
    }
}
#endif

// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
public import Tidemark

/// The options of a server: its addresses, its limits and its access rules.
public struct ServerOptions: Hashable, Sendable {
    /// The address to listen on.
    public var host = "127.0.0.1"
    /// The port; zero selects a free one.
    public var port = 8080
    /// The address at which clients reach the server, such as `https://sync.example.org`; `nil`
    /// believes each request's host.
    public var publicURL: String?
    /// The file of the certificate chain in PEM; `nil` speaks plain HTTP.
    public var certificate: String?
    /// The file of the certificate's private key in PEM.
    public var privateKey: String?
    /// The time after which the certificate and its key, and the key files of issuers, are read
    /// again, so that new ones are used without a restart.
    public var certificateInterval = Duration.seconds(10)
    /// True if people may make accounts for themselves.
    public var allowsSignUp = true
    /// Bytes that the body of a request may have, assets aside.
    public var bodyByteLimit = 4 << 20
    /// The rate limits; requests that are not named here have none.
    public var rateLimits: [RateLimited: Throttling.Rate] = [
        .signIn: Throttling.Rate(20, per: .seconds(60))
    ]
    /// True if the server is behind a proxy whose `X-Forwarded-For` names the client.
    public var trustsProxy = false
    /// The most connections that may be open at once.
    public var connectionLimit = 20_000
    /// The time between two heartbeats of a stream of changes, and the longest time for which a
    /// courier's answer waits.
    public var heartbeat = Duration.seconds(25)
    /// The most streams and couriers by which one user may listen at once in one container.
    public var listenersPerUser = 2_000
    /// The networks of this machine and its neighbours to which webhooks and requests for an
    /// issuer's keys may be sent, such as `127.0.0.0/8`.
    ///
    /// Other addresses that are not public are refused.
    public var webhookNetworks: [String] = []
    /// The duration of the attempts to reach a webhook.
    public var webhookPatience = WebhookPatience()
    /// The time after which an idle connection is closed.
    public var idleTimeout = Duration.seconds(60)
    /// The time within which the body of a request must arrive, except for assets.
    public var bodyTimeout = Duration.seconds(60)
    /// The time after which a client that takes nothing of its answer loses its connection.
    ///
    /// This includes streams and downloads: one piece of an asset, 256 KiB, must be taken in this
    /// time.
    public var answerTimeout = Duration.seconds(300)
    /// The maximum number of concurrent requests of one container without a limit of its own.
    public var requestsPerContainer = 2_000
    /// The maximum number of concurrent queries and deltas of one container without a limit of its
    /// own.
    ///
    /// Others wait.
    public var scansPerContainer = 32

    /// The validity of a session's web auth tokens.
    public var tokenRotation = TokenRotation.lenient
    /// The base-2 logarithm of the rounds of scrypt for new passwords.
    var passwordCost = 15
    /// The OpenID Connect issuers whose tokens are accepted in place of web auth tokens.
    public var issuers: [OIDCIssuer] = []

    /// Creates the default options.
    public init() {}
}

/// The validity of a session's web auth tokens.
public enum TokenRotation: String, CaseIterable, Hashable, Sendable {
    /// Each of them until the session ends, as Apple's service does.
    case lenient
    /// Each for one request, as in Apple's documentation: then only the answer's token is valid.
    ///
    /// A client that does not receive an answer must sign in again, and cannot send two requests at
    /// once. The server keeps the next token in memory: after a restart, a used token is valid once
    /// more.
    case strict
}
#endif

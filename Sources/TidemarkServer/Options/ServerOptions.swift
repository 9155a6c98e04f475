// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
public import Tidemark

/// How a server listens, and whom it lets in.
public struct ServerOptions: Hashable, Sendable {
    /// The address to listen on.
    public var host = "127.0.0.1"
    /// The port; zero takes a free one.
    public var port = 8080
    /// How clients reach the server, such as `https://sync.example.org`; `nil` believes each request's host.
    public var publicURL: String?
    /// The file of the certificate chain in PEM; `nil` speaks plain HTTP.
    public var certificate: String?
    /// The file of the certificate's private key in PEM.
    public var privateKey: String?
    /// How often the certificate and its key are read again, so that new ones are used without a restart.
    public var certificateInterval = Duration.seconds(10)
    /// Whether people may make accounts for themselves.
    public var allowsSignUp = true
    /// Bytes that the body of a request may have, assets aside.
    public var bodyByteLimit = 4 << 20
    /// How often something may be asked; what is not named here may be asked as often as it likes.
    public var rateLimits: [RateLimited: Throttling.Rate] = [
        .signIn: Throttling.Rate(20, per: .seconds(60))
    ]
    /// Whether a proxy stands before the server, whose `X-Forwarded-For` says where a request comes from.
    public var trustsProxy = false
    /// How many connections may be open at once.
    public var connectionLimit = 20_000

    /// The defaults.
    public init() {}
}
#endif

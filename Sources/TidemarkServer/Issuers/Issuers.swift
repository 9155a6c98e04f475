// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import Logging
import TidemarkModel
import TidemarkWire

/// The issuers of a server: checks the tokens that they have signed.
final class Issuers: Sendable {
    private struct Entry {
        let issuer: OIDCIssuer
        let keys: IssuerKeySource
    }

    /// The user that a token names.
    struct Identity: Sendable {
        let issuer: String
        let subject: String
        /// The time of issue, in milliseconds since 1970; `nil` if the token does not state it.
        let issued: Int64?
        /// The end of the token's validity, in milliseconds since 1970.
        let end: Int64
    }

    private let entries: [Entry]
    /// Tokens that were checked, by the versions of the keys, the container and their hashes.
    private let known = CredentialCache<Identity>(limit: 10_000)

    /// Seconds by which the clocks of this machine and of an issuer may differ.
    private static let leeway = 30.0
    private static let milliseconds = 1000.0

    /// Throws for an issuer that makes no sense, and for a file of keys that cannot be read.
    init(_ options: ServerOptions, _ logger: Logger) async throws {
        let networks = try options.webhookNetworks.map { try Network($0) }
        var sources: [String: IssuerKeySource] = [:]
        var entries: [Entry] = []
        for issuer in options.issuers {
            try issuer.check()
            // An issuer of several apps has one set of keys.
            let name = issuer.keyFile ?? issuer.url
            let keys = sources[name] ?? IssuerKeySource(of: issuer, networks, options, logger)
            sources[name] = keys
            entries.append(Entry(issuer: issuer, keys: keys))
            guard let file = issuer.keyFile else { continue }
            // Now, so that a wrong path is an error of the start and not of each request.
            await keys.refresh()
            guard keys.hasKeys else {
                throw SyncError(
                    .invalidArguments,
                    "The keys of the issuer \(issuer.url) cannot be read from \(file).",
                    remedy: "Name a file with a JSON Web Key Set that the server may read."
                )
            }
        }
        self.entries = entries
    }

    /// Returns the user of a token that is for a container.
    ///
    /// Throws a `WebError`: `AUTHENTICATION_FAILED` for a token that is not accepted there, and
    /// `TRY_AGAIN_LATER` if the issuer's keys could not be fetched.
    func identity(of text: String, in container: ContainerID) async throws -> Identity {
        let entries = entries.filter { $0.issuer.container == container }
        // A change of any key is a change of the sum: tokens of withdrawn keys are checked again.
        var version = 0
        // Only the keys of the token's own issuer are waited for, in `check`.
        for entry in entries { version += await entry.keys.refresh(isAwaited: false) }
        let name = "\(version) \(container.identifier) \([UInt8].sha256(text).hexadecimal)"
        let identity = try await known.credential(name) { try await check(text, entries) }
        guard let identity, Clock.now() < identity.end else {
            throw WebError.refusedCredential("The bearer token has expired.")
        }
        return identity
    }

    private func check(_ text: String, _ entries: [Entry]) async throws(WebError) -> Identity {
        guard let token = BearerToken(text) else {
            throw .refusedCredential("The bearer token is not a signed JSON Web Token.")
        }
        let header = token.header
        guard IssuerKeys.names.contains(header.alg), header.crit == nil else {
            throw .refusedCredential(
                "The algorithm or an extension of the bearer token is unknown."
            )
        }
        // As bytes: Unicode has other names that look the same.
        let issuer = Name(token.claims.iss)
        let own = entries.filter { Name($0.issuer.url) == issuer }
        let audience = (token.claims.aud?.names ?? []).map { Name($0) }
        guard let entry = own.first(where: { audience.contains(Name($0.issuer.audience)) }) else {
            throw .refusedCredential(
                own.isEmpty
                    ? "The issuer of the bearer token is not one of this container."
                    : "The bearer token is for another audience."
            )
        }
        if !entry.keys.keys.has(header) { await entry.keys.refresh(forUnknownKey: true) }
        // The issuer may have had another key since the keys were read.
        let knows = entry.keys.keys.has(header) || entry.keys.isCurrent
        guard entry.keys.hasKeys, knows else {
            throw WebError(
                "TRY_AGAIN_LATER",
                status: 503,
                "The keys of the issuer cannot be fetched at this moment.",
                retryAfter: 60
            )
        }
        guard entry.keys.keys.verify(token) else {
            throw .refusedCredential("The signature of the bearer token is not one of its issuer.")
        }
        return try Self.identity(token.claims, now: Double(Clock.now()) / Self.milliseconds)
    }

    /// Returns the user of a token whose signature is right.
    private static func identity(
        _ claims: BearerToken.Claims,
        now: Double
    ) throws(WebError) -> Identity {
        guard let subject = claims.sub, !subject.isEmpty, subject.utf8.count <= 1000 else {
            throw .refusedCredential("The bearer token names no subject.")
        }
        // The upper limit keeps the conversion below in the range of its type.
        guard let end = claims.exp, end < 1e12, now < end + leeway else {
            throw .refusedCredential("The bearer token has expired, or has no end.")
        }
        guard claims.nbf.map({ $0 <= now + leeway }) ?? true else {
            throw .refusedCredential("The bearer token begins in the future.")
        }
        // In the future, it would survive a later sign-out.
        guard claims.iat.map({ $0 <= now + leeway && $0 > -1e12 }) ?? true else {
            throw .refusedCredential("The bearer token was issued in the future.")
        }
        return Identity(
            issuer: claims.iss,
            subject: subject,
            issued: claims.iat.map { Int64($0 * milliseconds) },
            end: Int64((end + leeway) * milliseconds)
        )
    }
}
#endif

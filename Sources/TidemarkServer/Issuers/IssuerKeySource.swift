// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import AsyncHTTPClient
import Foundation
import Logging
import NIOSSL
import TidemarkLock
import TidemarkModel

/// The keys of one issuer, which it reads again when that is due.
final class IssuerKeySource: Sendable {
    private struct State {
        var keys = IssuerKeys()
        var bytes: [UInt8]?
        /// The number of different sets of keys that were read.
        var version = 0
        var lastAttempt: ContinuousClock.Instant?
        var lastSuccess: ContinuousClock.Instant?
        var reading: Task<Void, Never>?
    }

    private let url: String
    private let file: String?
    private let networks: [Network]
    /// The authorities to trust; `nil` for those of the system.
    private let trust: TLSConfiguration?
    private let logger: Logger
    /// The time after which the keys are read again.
    private let lifetime: Duration
    /// The shortest time between two attempts.
    private let pause: Duration
    private let state = Lock(State())

    /// The bytes that an issuer's document may have.
    private static let byteLimit = 1 << 20

    /// Creates the source of a setting's keys; reads nothing.
    init(
        of issuer: OIDCIssuer,
        _ networks: [Network],
        _ options: ServerOptions,
        _ logger: Logger,
        trust: TLSConfiguration? = nil
    ) {
        self.trust = trust
        url = issuer.url
        file = issuer.keyFile
        self.networks = networks
        self.logger = logger
        // While the issuer answers, a key that it has withdrawn is accepted for an hour, and for the
        // requests that find the keys too old.
        lifetime = file == nil ? .seconds(60 * 60) : options.certificateInterval
        pause = file == nil ? .seconds(60) : options.certificateInterval
    }

    /// The keys that were read last.
    var keys: IssuerKeys { state.withLock(\.keys) }

    /// True if the last attempt to read the keys succeeded.
    var isCurrent: Bool { state.withLock { $0.lastSuccess == $0.lastAttempt } }

    /// True if keys were read at least once.
    var hasKeys: Bool { state.withLock { $0.bytes != nil } }

    /// Reads the keys if that is due, or if a token names an unknown one; returns their version.
    ///
    /// If it is not awaited, and the keys are not in a file, the version may be the one before.
    /// A client that invents names of keys causes one request a minute to the issuer.
    @discardableResult
    func refresh(
        forUnknownKey isUnknown: Bool = false,
        isAwaited: Bool = true,
        at now: ContinuousClock.Instant = .now
    ) async -> Int {
        let reading = state.withLock { state -> Task<Void, Never>? in
            let isOld = state.lastSuccess.map { now - $0 >= lifetime } ?? true
            // Keys that are only old are used until the new ones have arrived; a file is read at
            // once.
            let waits = file != nil || isAwaited && (isUnknown || state.bytes == nil)
            if let reading = state.reading { return waits ? reading : nil }
            guard isOld || isUnknown, state.lastAttempt.map({ now - $0 >= pause }) ?? true else {
                return nil
            }
            state.lastAttempt = now
            // A task of its own: it continues for other requests if the first one is cancelled.
            let reading = Task { await self.read(at: now) }
            state.reading = reading
            return waits ? reading : nil
        }
        await reading?.value
        return state.withLock(\.version)
    }

    private func read(at now: ContinuousClock.Instant) async {
        do {
            let bytes = try await document()
            let isNew = state.withLock { $0.bytes != bytes }
            let keys: IssuerKeys? = try await isNew ? IssuerKeys(bytes) : nil
            state.withLock { state in
                if let keys {
                    state.keys = keys
                    state.bytes = bytes
                    state.version += 1
                }
                state.lastSuccess = now
                state.reading = nil
            }
        } catch {
            // The keys from before stay in use: a failure of the issuer must not sign users out.
            logger.warning("issuer", metadata: ["issuer": "\(url)", "failure": "\(error)"])
            state.withLock { $0.reading = nil }
        }
    }

    /// Returns the issuer's set of keys.
    private func document() async throws -> [UInt8] {
        if let file { return Array(try Data(contentsOf: URL(filePath: file))) }
        let base = url.hasSuffix("/") ? String(url.dropLast()) : url
        let bytes = try await fetch(base + "/.well-known/openid-configuration")
        let found = try JSONDecoder().decode(Discovery.self, from: Data(bytes))
        // OpenID Connect Discovery, 4.3: the document of another issuer has other keys.
        guard Name(found.issuer) == Name(url) else {
            throw CheckedRequest.Failure(
                description: "The document at \(base) is that of the issuer \(found.issuer)."
            )
        }
        return try await fetch(found.keys)
    }

    private func fetch(_ url: String) async throws -> [UInt8] {
        var request = HTTPClientRequest(url: url)
        request.headers = ["Accept": "application/json", "User-Agent": "Tidemark"]
        return try await CheckedRequest.send(
            request,
            allowing: networks,
            bodyByteLimit: Self.byteLimit,
            trust: trust
        )
    }
}

/// The used members of an issuer's discovery document.
private struct Discovery: Decodable {
    let issuer: String
    /// The address of the set of keys.
    let keys: String

    private enum CodingKeys: String, CodingKey {
        case issuer
        case keys = "jwks_uri"
    }
}
#endif

// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import ArgumentParser
import Configuration
import Foundation
import Tidemark
import TidemarkModel
import TidemarkServer

/// The settings of a server: each from its flag, else from a variable, else from a file, else the default.
///
/// `port` is the flag `--port`, the variable `TIDEMARK_PORT`, and the member `port` of the file.
struct ServerSettings {
    /// A setting and its source.
    struct Found {
        let name: String
        let content: ConfigContent
        let source: String
    }

    /// Every setting, in the order in which they are shown.
    let all: [Found]

    private static let defaults = ServerOptions()

    /// The names and the default values of the settings.
    private static let standard: [(name: String, content: ConfigContent)] = [
        // A default also gives the type of its setting, so a setting that may be absent has an
        // empty text.
        ("store", .string("tidemark.tide")), ("port", .int(defaults.port)),
        ("host", .string(defaults.host)), ("public-url", .string("")),
        ("certificate", .string("")), ("private-key", .string("")),
        ("sign-up", .bool(defaults.allowsSignUp)), ("rate-limit", .stringArray(["sign-in=20/1m"])),
        ("token-rotation", .string(defaults.tokenRotation.rawValue)),
        ("trust-proxy", .bool(defaults.trustsProxy)),
        ("connection-limit", .int(defaults.connectionLimit)),
        ("webhook-network", .stringArray([])), ("oidc-issuer", .stringArray([])),
        // Texts, because numbers of bytes may have a unit.
        ("user-quota", .string("")), ("public-quota", .string("")),
        ("container-requests", .int(defaults.requestsPerContainer)),
        ("container-scans", .int(defaults.scansPerContainer)),
        ("journal-days", .int(30)), ("container", .string(ContainerID.standard.identifier)),
    ]

    /// Finds every setting; throws for one that makes no sense, and for a member of the file that is none.
    init(_ flags: ServerFlags, environment: [String: String]) throws {
        let variables = EnvironmentVariablesProvider(environmentVariables: environment)
        let path = flags.config ?? environment["TIDEMARK_CONFIG"]
        let file = try path.map { try Self.file(at: $0) }
        all = try Self.standard.map { name, content in
            // The first source wins, and later ones are not read. A wrong value in a file is
            // therefore no error if a flag replaces it.
            if let flag = Self.flag(name, flags) {
                return Found(name: name, content: flag, source: "--" + name)
            }
            let type = content.type
            let variable = "TIDEMARK_" + name.uppercased().replacing("-", with: "_")
            // The library makes the variable's name of these two parts: upper case, with
            // underscores.
            let key = AbsoluteConfigKey(["tidemark", name])
            if let found = try Self.read(
                variable,
                type,
                { try variables.value(forKey: key, type: type) }
            ) {
                return Found(name: name, content: found, source: variable)
            }
            if let file, let path {
                let key = AbsoluteConfigKey([name])
                let place = "\"\(name)\" in \(path)"
                if let found = try Self.read(
                    place,
                    type,
                    { try file.value(forKey: key, type: type) }
                ) {
                    return Found(name: name, content: found, source: path)
                }
            }
            return Found(name: name, content: content, source: "default")
        }
    }

    private static func flag(_ name: String, _ flags: ServerFlags) -> ConfigContent? {
        switch name {
        case "store": flags.store.map { .string($0) }
        case "port": flags.port.map { .int($0) }
        case "host": flags.host.map { .string($0) }
        case "public-url": flags.publicURL.map { .string($0) }
        case "certificate": flags.certificate.map { .string($0) }
        case "private-key": flags.privateKey.map { .string($0) }
        case "sign-up": flags.signUp.map { .bool($0) }
        case "rate-limit": flags.rateLimit.isEmpty ? nil : .stringArray(flags.rateLimit)
        case "token-rotation": flags.tokenRotation.map { .string($0) }
        case "trust-proxy": flags.trustProxy.map { .bool($0) }
        case "connection-limit": flags.connectionLimit.map { .int($0) }
        case "webhook-network":
            flags.webhookNetwork.isEmpty ? nil : .stringArray(flags.webhookNetwork)
        case "oidc-issuer": flags.oidcIssuer.isEmpty ? nil : .stringArray(flags.oidcIssuer)
        case "user-quota": flags.userQuota.map { .string($0) }
        case "public-quota": flags.publicQuota.map { .string($0) }
        case "container-requests": flags.containerRequests.map { .int($0) }
        case "container-scans": flags.containerScans.map { .int($0) }
        case "journal-days": flags.journalDays.map { .int($0) }
        case "container": flags.container.map { .string($0) }
        default: nil
        }
    }

    private static func read(
        _ place: String,
        _ type: ConfigType,
        _ lookup: () throws -> LookupResult
    ) throws -> ConfigContent? {
        do {
            return try lookup().value?.content
        } catch {
            let wanted =
                switch type {
                case .int: "a whole number"
                case .bool: "true or false"
                case .stringArray: "a list of texts"
                default: "text"
                }
            throw CommandError("The setting \(place) must be \(wanted).")
        }
    }

    private static func file(at path: String) throws -> JSONSnapshot {
        guard let data = FileManager.default.contents(atPath: path) else {
            throw CommandError(
                "The file of settings \(path) cannot be read. Check the path and its permissions."
            )
        }
        let object = try? JSONSerialization.jsonObject(with: data)
        guard let members = object as? [String: Any] else {
            throw CommandError("The file of settings \(path) does not contain a JSON object.")
        }
        let names = standard.map(\.name)
        // A misspelled name would otherwise leave the default in force, without a word.
        if let unknown = members.keys.sorted().first(where: { !names.contains($0) }) {
            throw CommandError(
                "There is no setting \"\(unknown)\", which \(path) names. "
                    + "The settings are \(names.joined(separator: ", "))."
            )
        }
        return try JSONSnapshot(
            data: data.bytes,
            providerName: path,
            parsingOptions: JSONSnapshot.ParsingOptions()
        )
    }

    // MARK: What they mean

    private func content(_ name: String) -> ConfigContent? {
        all.first { $0.name == name }?.content
    }

    /// A setting that is text; `nil` for an empty one.
    func text(_ name: String) -> String? {
        guard case .string(let text)? = content(name), !text.isEmpty else { return nil }
        return text
    }

    private func number(_ name: String, in range: ClosedRange<Int>) throws -> Int {
        guard case .int(let number)? = content(name), range.contains(number) else {
            throw CommandError(
                "The setting \(name) must be a number from \(range.lowerBound) to \(range.upperBound)."
            )
        }
        return number
    }

    private func truth(_ name: String) -> Bool { content(name) == .bool(true) }

    /// A number of bytes; `nil` for a setting that is empty.
    private func byteCount(_ name: String) throws -> Int? {
        guard let text = text(name) else { return nil }
        guard let number = ByteCount.number(text), number > 0 else {
            throw CommandError(
                "The setting \(name) must be a number of bytes of at least 1, such as 500M; it is "
                    + "\"\(text)\"."
            )
        }
        return number
    }

    /// The store's folder.
    var store: String { text("store") ?? "tidemark.tide" }

    /// The container of the token that is printed.
    var container: ContainerID { text("container").map { ContainerID($0) } ?? .standard }

    /// The options with which the server's store is opened.
    func storeOptions() throws -> StoreOptions {
        var options = StoreOptions()
        options.requiresAuthentication = true
        options.journal = .full
        options.limits.bytesPerPrivateDatabase = try byteCount("user-quota")
        options.limits.bytesPerPublicDatabase = try byteCount("public-quota")
        let days = try number("journal-days", in: 1...36_500)
        // In milliseconds. The range of the days keeps the product far below 64 bits.
        options.journalLifetime = Int64(days) * 24 * 60 * 60 * 1000
        return options
    }

    /// The options of the server.
    func options() throws -> ServerOptions {
        var options = ServerOptions()
        // The system chooses a free port for 0.
        options.port = try number("port", in: 0...65_535)
        options.host = text("host") ?? options.host
        options.publicURL = try text("public-url").map {
            try PublicAddress($0, of: "The setting public-url").text
        }
        options.certificate = text("certificate")
        options.privateKey = text("private-key")
        options.allowsSignUp = truth("sign-up")
        options.trustsProxy = truth("trust-proxy")
        guard let rotation = text("token-rotation").flatMap({ TokenRotation(rawValue: $0) }) else {
            throw CommandError("The setting token-rotation must be lenient or strict.")
        }
        options.tokenRotation = rotation
        options.connectionLimit = try number("connection-limit", in: 1...1_000_000)
        if case .stringArray(let networks)? = content("webhook-network") {
            options.webhookNetworks = networks
            try options.checkWebhookNetworks()
        }
        if case .stringArray(let issuers)? = content("oidc-issuer") {
            options.issuers = try issuers.map { text in
                do throws(SyncError) {
                    return try OIDCIssuer(text)
                } catch {
                    throw CommandError("\(error.message) \(error.remedy)")
                }
            }
        }
        options.requestsPerContainer = try number("container-requests", in: 1...1_000_000)
        options.scansPerContainer = try number("container-scans", in: 1...1_000_000)
        if case .stringArray(let limits)? = content("rate-limit") {
            for text in limits {
                let (kind, rate) = try Self.rateLimit(text)
                // Added to the defaults: attempts to sign in stay limited unless a setting names
                // them.
                options.rateLimits[kind] = rate
            }
        }
        guard (options.certificate == nil) == (options.privateKey == nil) else {
            throw CommandError("The settings certificate and private-key need each other.")
        }
        try options.checkAddressAndCertificate()
        return options
    }

    private static func rateLimit(_ text: String) throws -> (RateLimited, Throttling.Rate) {
        let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
        let rate = (parts.last ?? "").split(separator: "/", maxSplits: 1).map(String.init)
        guard parts.count == 2, rate.count == 2, let kind = RateLimited(rawValue: parts[0]),
            let count = Int(rate[0]), count > 0, let period = try? duration(rate[1]),
            // A count in no time would be no limit.
            period > .zero
        else {
            let kinds = RateLimited.allCases.map(\.rawValue).joined(separator: ", ")
            throw CommandError(
                "\"\(text)\" is not a rate limit. Write KIND=COUNT/TIME, such as user=600/1m; "
                    + "the kinds are \(kinds)."
            )
        }
        return (kind, Throttling.Rate(count, per: period))
    }
}

extension ServerSettings.Found {
    /// The value, as it would be given to the flag.
    var text: String {
        switch content {
        case .string(let text): text
        case .int(let number): String(number)
        case .bool(let truth): String(truth)
        case .stringArray(let texts): texts.joined(separator: ", ")
        default: ""
        }
    }
}

extension ConfigContent {
    fileprivate var type: ConfigType {
        switch self {
        case .int: .int
        case .bool: .bool
        case .stringArray: .stringArray
        default: .string
        }
    }
}
#endif

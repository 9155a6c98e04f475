// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import Foundation
import TestSupport
import Testing
import Tidemark
import TidemarkModel
import TidemarkServer

@testable import TidemarkCommand

/// Each setting reaches its option, from its flag, its variable and its member of a file.
@Suite struct ServerSettingsTests {
    /// Unusual values of all settings but those of a certificate, whose files have to exist.
    private static let values: [String: any Sendable] = [
        "store": "other.tide", "port": 4711, "host": "::1",
        "public-url": "https://sync.example.org", "sign-up": false, "rate-limit": ["user=7/3m"],
        "token-rotation": "strict", "trust-proxy": true, "connection-limit": 123,
        "webhook-network": ["10.9.0.0/16"],
        "oidc-issuer": ["https://id.example.org audience=notes container=iCloud.notes"],
        "user-quota": "5M", "public-quota": "7M", "container-requests": 45, "container-scans": 6,
        "journal-days": 8, "container": "iCloud.other",
    ]

    private func check(_ settings: ServerSettings, _ source: (String) -> String) throws {
        let others = ["certificate", "private-key"]
        #expect(Set(settings.all.map(\.name)) == Set(Self.values.keys).union(others))
        for found in settings.all where !others.contains(found.name) {
            #expect(found.source == source(found.name), "\(found.name)")
        }
        #expect(settings.store == "other.tide")
        #expect(settings.container == ContainerID("iCloud.other"))
        let options = try settings.options()
        #expect(options.port == 4711)
        #expect(options.host == "::1")
        #expect(options.publicURL == "https://sync.example.org")
        #expect(!options.allowsSignUp)
        var limits = ServerOptions().rateLimits
        limits[.user] = Throttling.Rate(7, per: .seconds(180))
        #expect(options.rateLimits == limits)
        #expect(options.tokenRotation == .strict)
        #expect(options.trustsProxy)
        #expect(options.connectionLimit == 123)
        #expect(options.webhookNetworks == ["10.9.0.0/16"])
        #expect(options.issuers.map(\.url) == ["https://id.example.org"])
        #expect(options.requestsPerContainer == 45)
        #expect(options.scansPerContainer == 6)
        let store = try settings.storeOptions()
        #expect(store.limits.bytesPerPrivateDatabase == 5 << 20)
        #expect(store.limits.bytesPerPublicDatabase == 7 << 20)
        #expect(store.journalLifetime == 8 * 86_400_000)
    }

    @Test func `Flags`() throws {
        var arguments = ["other.tide", "--no-sign-up", "--trust-proxy"]
        for (name, value) in Self.values where !["store", "sign-up", "trust-proxy"].contains(name) {
            let texts = value as? [String] ?? ["\(value)"]
            for text in texts { arguments += ["--" + name, text] }
        }
        let flags = try ServerFlags.parse(arguments)
        try check(try ServerSettings(flags, environment: [:])) { "--" + $0 }
    }

    @Test func `Variables`() throws {
        let name = { (name: String) in
            "TIDEMARK_" + name.uppercased().replacing("-", with: "_")
        }
        let pairs = Self.values.map { key, value in
            (name(key), (value as? [String])?.joined(separator: ",") ?? "\(value)")
        }
        let environment = Dictionary(uniqueKeysWithValues: pairs)
        try check(
            try ServerSettings(try ServerFlags.parse([]), environment: environment),
            name
        )
    }

    @Test func `Members of a file`() throws {
        let folder = try ScratchFolder()
        let path = folder.path("settings.json")
        try JSONSerialization.data(withJSONObject: Self.values)
            .write(to: URL(fileURLWithPath: path))
        let flags = try ServerFlags.parse(["--config", path])
        try check(try ServerSettings(flags, environment: [:])) { _ in path }
    }
}
#endif

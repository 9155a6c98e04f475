// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import Crypto
import Foundation
import HTTPTypes
import TestSupport
import Testing
import TidemarkModel
import _CryptoExtras

@testable import TidemarkServer

/// An OpenID Connect issuer with keys of its own, which signs by hand.
struct TestIssuer {
    static let url = "https://id.example.org"
    static let audience = "notes"

    let es256 = P256.Signing.PrivateKey()
    let edDSA = Curve25519.Signing.PrivateKey()
    let rsa: _RSA.Signing.PrivateKey

    /// One key of RSA for all issuers, because it takes long to make.
    private static let shared = Result { try _RSA.Signing.PrivateKey(keySize: .bits2048) }

    init() throws {
        rsa = try Self.shared.get()
    }

    /// The keys that are published, by their ids.
    func keySet(_ ids: [String] = ["e", "d", "r"]) throws -> Data {
        let primitives = try rsa.publicKey.getKeyPrimitives()
        let point = es256.publicKey.rawRepresentation
        let keys: [String: [String: String]] = [
            "e": [
                "kty": "EC", "crv": "P-256", "x": point.prefix(32).base64URL,
                "y": point.suffix(32).base64URL,
            ],
            "d": [
                "kty": "OKP", "crv": "Ed25519", "x": edDSA.publicKey.rawRepresentation.base64URL,
                "alg": "EdDSA",
            ],
            "r": [
                "kty": "RSA", "n": primitives.modulus.base64URL,
                "e": primitives.publicExponent.base64URL,
            ],
        ]
        var published: [[String: String]] = ids.map { id in
            (keys[id] ?? [:]).merging(["kid": id, "use": "sig"]) { $1 }
        }
        // Issuers publish keys of kinds that nobody here can read.
        published.append(["kty": "RSA", "kid": "x", "use": "enc", "alg": "RSA-OAEP-256"])
        published.append(["kty": "EC", "kid": "k", "crv": "secp256k1", "x": "AA", "y": "AA"])
        published.append(["kty": "oct", "kid": "o", "k": "AAAA"])
        return try JSONSerialization.data(withJSONObject: ["keys": published])
    }

    /// The claims of a token that is accepted.
    static func claims(_ changes: [String: Any] = [:]) -> [String: Any] {
        let now = Date().timeIntervalSince1970
        let claims: [String: Any] = [
            "iss": url, "sub": "ann", "aud": audience, "iat": now, "exp": now + 300,
        ]
        return claims.merging(changes) { $1 }.filter { !($0.value is NSNull) }
    }

    /// The function that signs the first two parts of a token.
    typealias Signing = (Data) throws -> Data

    /// Signs claims with the key of an algorithm: `ES256`, `EdDSA`, or one of RSA.
    func token(
        _ claims: [String: Any] = TestIssuer.claims(),
        _ algorithm: String = "ES256",
        header: [String: Any] = [:],
        signing: Signing? = nil
    ) throws -> String {
        let id = ["ES256": "e", "EdDSA": "d"][algorithm] ?? "r"
        let standard: [String: Any] = ["alg": algorithm, "kid": id]
        let whole = standard.merging(header) { $1 }.filter { !($0.value is NSNull) }
        let parts = try [whole, claims].map {
            try JSONSerialization.data(withJSONObject: $0).base64URL
        }
        let text = parts.joined(separator: ".")
        let bytes = Data(text.utf8)
        let signature = try signing.map { try $0(bytes) } ?? sign(bytes, algorithm)
        return "\(text).\(signature.base64URL)"
    }

    private func sign(_ data: Data, _ algorithm: String) throws -> Data {
        switch algorithm {
        case "ES256": return try es256.signature(for: data).rawRepresentation
        case "EdDSA": return try edDSA.signature(for: data)
        case "PS384":
            return try rsa.signature(for: SHA384.hash(data: data), padding: .PSS).rawRepresentation
        case "RS512":
            return try rsa.signature(
                for: SHA512.hash(data: data),
                padding: .insecurePKCS1v1_5
            ).rawRepresentation
        default:
            return try rsa.signature(
                for: SHA256.hash(data: data),
                padding: .insecurePKCS1v1_5
            ).rawRepresentation
        }
    }

    /// The options of a server that knows the issuer by a file of keys, which is read each time.
    func options(_ folder: ScratchFolder) throws -> ServerOptions {
        let file = folder.path("keys.json")
        try keySet().write(to: URL(filePath: file))
        var options = ServerOptions()
        options.certificateInterval = .zero
        options.issuers = [
            OIDCIssuer(Self.url, audience: Self.audience, container: .standard, keyFile: file)
        ]
        return options
    }
}

extension ServerUnderTest {
    /// Sends a request with a bearer token.
    func send(
        _ endpoint: String,
        _ body: String = "",
        bearer token: String
    ) async throws -> Answer {
        try await send(endpoint, body, headers: [.authorization: "Bearer \(token)"])
    }

    /// Expects that a bearer token is refused with a reason.
    func refuses(
        _ token: String,
        _ reason: String,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let answer = try await send("private/zones/list", bearer: token)
        #expect(answer.status == 401, sourceLocation: sourceLocation)
        #expect(answer.code == "AUTHENTICATION_FAILED", sourceLocation: sourceLocation)
        let told = answer.json["reason"] as? String
        #expect(told?.contains(reason) == true, "\(told ?? "")", sourceLocation: sourceLocation)
        #expect(answer.json["redirectURL"] == nil, sourceLocation: sourceLocation)
    }

    /// The user record name of the holder of a bearer token.
    func userName(_ token: String) async throws -> String? {
        try await send("private/users/caller", bearer: token).json["userRecordName"] as? String
    }
}
#endif

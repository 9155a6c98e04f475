// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import Foundation
import JWTKit

/// The public keys of an issuer, by their ids and the names of their algorithms.
struct IssuerKeys: Sendable {
    private var algorithms: [String: [String: any JWTAlgorithm]] = [:]

    /// The algorithms of RSA keys.
    private static let rsa = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"]
    /// The algorithm of each curve.
    private static let curves = [
        "P-256": "ES256", "P-384": "ES384", "P-521": "ES512", "Ed25519": "EdDSA",
    ]
    /// Every algorithm that is accepted: none with a shared secret, and not `none`.
    static let names = Set(rsa + curves.values)

    /// Creates an empty set.
    init() {}

    /// Reads a JSON Web Key Set, without the keys that cannot verify a token.
    ///
    /// Throws for any other text.
    init(_ bytes: [UInt8]) async throws {
        for published in try JSONDecoder().decode(Published.self, from: Data(bytes)).keys {
            guard var key = published.key else { continue }
            // A key without an id verifies the tokens that name none.
            let id = key.keyIdentifier ?? JWKIdentifier(string: "")
            key.keyIdentifier = id
            // Only public halves are of use here, also if a file has both.
            (key.privateExponent, key.prime1, key.prime2) = (nil, nil, nil)
            for name in Self.names(of: key) {
                // The key states its algorithm, or gets one entry for each. JWTKit would keep the
                // algorithm of the first token, which its sender chooses.
                key.algorithm = JWK.Algorithm(rawValue: name)
                let keys = JWTKeyCollection()
                guard let algorithm = try? await keys.add(jwk: key).getKey(for: id) else {
                    continue
                }
                algorithms[id.string, default: [:]][name] = algorithm
            }
        }
    }

    /// Returns the names of the algorithms that a key may be used with.
    private static func names(of key: JWK) -> [String] {
        let names =
            key.keyType == .rsa
            ? rsa : (key.curve.flatMap { curves[$0.rawValue] }).map { [$0] } ?? []
        guard let stated = key.algorithm?.rawValue else { return names }
        return names.filter { $0 == stated }
    }

    /// Returns true if there is a key for the header of a token.
    func has(_ header: BearerToken.Header) -> Bool { algorithm(header) != nil }

    /// Returns true if a token is signed with one of the keys.
    func verify(_ token: BearerToken) -> Bool {
        // An error is a signature that cannot be read.
        (try? algorithm(token.header)?.verify(token.signature, signs: token.signed)) == true
    }

    private func algorithm(_ header: BearerToken.Header) -> (any JWTAlgorithm)? {
        algorithms[header.kid ?? ""]?[header.alg]
    }
}

/// A JSON Web Key Set as it is published.
private struct Published: Decodable {
    let keys: [Key]

    /// A key; `nil` if it is for encryption, or of a kind that JWTKit cannot read.
    struct Key: Decodable {
        let key: JWK?

        private enum CodingKeys: String, CodingKey {
            case use
        }

        init(from decoder: any Decoder) throws {
            let use = try decoder.container(keyedBy: CodingKeys.self)
                .decodeIfPresent(String.self, forKey: .use)
            key = use == "enc" ? nil : try? JWK(from: decoder)
        }
    }
}
#endif

// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import Foundation

/// A JSON Web Token as it arrived: nothing in it is checked.
struct BearerToken {
    /// The part that names the key.
    struct Header: Decodable {
        var alg: String
        var kid: String?
        /// Extensions that a receiver must understand.
        var crit: [String]?
    }

    /// The part that names the user; times are in seconds since 1970.
    struct Claims: Decodable {
        var iss: String
        var sub: String?
        var aud: Audience?
        var exp: Double?
        var nbf: Double?
        var iat: Double?
    }

    /// The audience of a token: one text or several.
    struct Audience: Decodable {
        let names: [String]

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let name = try? container.decode(String.self) {
                names = [name]
            } else {
                names = try container.decode([String].self)
            }
        }
    }

    let header: Header
    let claims: Claims
    /// The bytes that the signature is for.
    let signed: [UInt8]
    let signature: [UInt8]

    /// The bytes of the longest token that is read, which is the limit of a header.
    static let byteLimit = 16 << 10

    /// `nil` for a text that is not a signed token with an issuer.
    init?(_ text: String) {
        guard text.utf8.count <= Self.byteLimit else { return nil }
        let parts = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 3, let header = Self.read(Header.self, parts[0]),
            let claims = Self.read(Claims.self, parts[1]),
            let signature = [UInt8](base64URL: parts[2])
        else { return nil }
        self.header = header
        self.claims = claims
        self.signature = signature
        signed = Array("\(parts[0]).\(parts[1])".utf8)
    }

    private static func read<Part: Decodable>(_ type: Part.Type, _ text: String) -> Part? {
        guard let bytes = [UInt8](base64URL: text) else { return nil }
        return try? JSONDecoder().decode(type, from: Data(bytes))
    }
}
#endif

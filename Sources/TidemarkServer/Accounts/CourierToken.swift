// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import TidemarkDatabase

/// A client that fetches notifications at its own address.
struct CourierToken: RecordCodable, Hashable, Sendable {
    static let recordType = "Courier"
    /// The hash of the token, in hexadecimal digits.
    var id: RecordName
    var container: String
    var environment: String
    var user: String
    /// The client, which receives no notifications of its own changes.
    var device: String
    /// The session of the signed-in user; `nil` for a key or an issuer's token.
    var session: String?
    /// The account of the user, the issuer that named them, the time of the token's issue and its
    /// end; `nil` for a session or a key.
    var account: String?
    var issuer: String?
    var issued: Int64?
    var end: Int64?
    /// The key that signed the request for the courier; `nil` for a session.
    var key: String?
    /// The name of the API token's record; `nil` for a key.
    var token: String?
    /// The change token after the last notification that the client has received.
    var position: String

    static func recordName(of token: String) -> RecordName {
        RecordName([UInt8].sha256(token).hexadecimal)
    }
}
#endif

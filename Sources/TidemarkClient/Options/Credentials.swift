// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Client
import Crypto
public import TidemarkModel

/// The proof of a user's identity that a client sends to a server.
public struct Credentials: Sendable {
    enum Kind: Sendable {
        case apiToken(String, webAuthToken: String?)
        case serverKey(id: String, P256.Signing.PrivateKey)
        case bearer(String, apiToken: String?)
    }

    let kind: Kind

    /// Returns the credentials of an app's token: for anonymous readers of the public database.
    public static func apiToken(_ token: String) -> Credentials {
        Credentials(kind: .apiToken(token, webAuthToken: nil))
    }

    /// Returns the credentials of an app's token and the token of a user who signed in.
    ///
    /// Servers return a new web auth token with each answer, and the connection keeps the last one:
    /// ``ServerConnection/webAuthToken``.
    public static func user(apiToken: String, webAuthToken: String) -> Credentials {
        Credentials(kind: .apiToken(apiToken, webAuthToken: webAuthToken))
    }

    /// Returns the credentials of a server's key, which signs each request (ECDSA-P256-SHA256): for
    /// public databases only.
    ///
    /// `privateKey` is the key's text in PEM. Throws `invalidArguments` for any other text.
    public static func serverKey(
        id: String,
        privateKey: String
    ) throws(SyncError) -> Credentials {
        do {
            let key = try P256.Signing.PrivateKey(pemRepresentation: privateKey)
            return Credentials(kind: .serverKey(id: id, key))
        } catch {
            throw SyncError(
                .invalidArguments,
                "The private key of '\(id)' cannot be read: \(error).",
                remedy: "Give the text of an EC private key on the curve prime256v1, in PEM."
            )
        }
    }

    /// Returns the credentials of a user whom an OpenID Connect issuer of the server knows.
    ///
    /// The token is sent as `Authorization: Bearer`. Servers require the app's token too.
    /// ``ServerConnection/renewBearer(_:)`` replaces a token that expires.
    public static func bearer(_ token: String, apiToken: String? = nil) -> Credentials {
        Credentials(kind: .bearer(token, apiToken: apiToken))
    }
}
#endif

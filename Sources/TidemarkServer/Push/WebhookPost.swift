// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import AsyncHTTPClient
import Crypto
import Foundation

/// One request to a webhook.
struct WebhookPost {
    let url: String
    /// The same for each attempt to post the same notification.
    let id: String
    /// Seconds since 1970.
    let time: Int64
    let body: [UInt8]

    /// Returns the signature in the form of Standard Webhooks: HMAC-SHA-256 over id, time and body.
    func signature(with key: [UInt8]) -> String {
        let signed = Array("\(id).\(time).".utf8) + body
        let code = HMAC<SHA256>.authenticationCode(
            for: signed,
            using: SymmetricKey(data: key)
        )
        return "v1," + Data(code).base64EncodedString()
    }

    /// Posts the request; throws unless the answer has a status of 200 to 299.
    func send(signedWith key: [UInt8], allowing networks: [Network]) async throws {
        var request = HTTPClientRequest(url: url)
        request.method = .POST
        request.headers = [
            "Content-Type": "application/json", "User-Agent": "Tidemark", "webhook-id": id,
            "webhook-timestamp": String(time), "webhook-signature": signature(with: key),
        ]
        request.body = .bytes(body)
        // Only the status of the answer counts.
        _ = try await CheckedRequest.send(request, allowing: networks)
    }
}
#endif

// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import AsyncHTTPClient
import Crypto
import Dispatch
import Foundation
import NIOCore
import TidemarkModel

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

    /// The reason for which a request was not taken.
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// Posts the request; throws unless the answer has a status of 200 to 299.
    ///
    /// The address is looked up once, checked, and then connected to. Redirects are not followed.
    /// Only the status of the answer counts.
    func send(signedWith key: [UInt8], allowing networks: [Network]) async throws {
        guard let parts = URLComponents(string: url), let host = parts.host else {
            throw Failure(description: "The address cannot be read.")
        }
        let address = try await Self.address(of: host)
        let isAllowed = networks.contains { $0.contains(address.0) }
        guard isAllowed || address.0.isPublic else {
            throw Failure(
                description:
                    "\(host) is \(address.text), which is not a public address. Allow its network "
                    + "with --webhook-network."
            )
        }
        guard parts.scheme == "https" || isAllowed else {
            throw Failure(description: "Requests to public addresses need https.")
        }
        var request = HTTPClientRequest(url: url)
        request.method = .POST
        request.headers = [
            "Content-Type": "application/json", "User-Agent": "Tidemark", "webhook-id": id,
            "webhook-timestamp": String(time), "webhook-signature": signature(with: key),
        ]
        request.body = .bytes(body)
        var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
        // Without this, the client looks the name up again. The second answer could be a private
        // address, which nothing checks.
        configuration.dnsOverride = [host: address.text]
        configuration.timeout.connect = .seconds(10)
        // A client for one request: `dnsOverride` belongs to the configuration of a client. A
        // shared client could reuse the connection of an earlier lookup, whose address was not
        // checked this time.
        let client = HTTPClient(configuration: configuration)
        let status: UInt
        do {
            status = try await client.execute(request, timeout: .seconds(20)).status.code
        } catch {
            try? await client.shutdown()
            throw error
        }
        // The body of the answer is not read; closing the client drops it with its connection.
        try? await client.shutdown()
        guard (200..<300).contains(status) else {
            throw Failure(description: "The answer had the status \(status).")
        }
    }

    /// Looks a host up, on a thread that may wait.
    private static func address(of host: String) async throws -> (InternetAddress, text: String) {
        let name = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
        let found: SocketAddress? = await withCheckedContinuation { continuation in
            // The lookup blocks its thread for as long as the name server takes.
            DispatchQueue.global(qos: .utility).async {
                continuation.resume(
                    returning: try? SocketAddress.makeAddressResolvingHost(name, port: 0)
                )
            }
        }
        guard let found, let address = InternetAddress(found), let text = found.ipAddress else {
            throw Failure(description: "The name \(name) has no address.")
        }
        return (address, text)
    }
}
#endif

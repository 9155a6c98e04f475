// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import AsyncHTTPClient
import Dispatch
import Foundation
import NIOCore
import NIOSSL

/// A request of the server to an address that an administrator or an issuer of tokens set.
enum CheckedRequest {
    /// The reason for which a request did not succeed.
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// Sends a request, and returns the body of the answer; an empty one if its limit is zero.
    ///
    /// The address is looked up once, checked, and then connected to. Redirects are not followed.
    /// Throws unless the answer has a status of 200 to 299 and a body within the limit, and is whole
    /// within `patience`. `trust` takes the place of the system's certificate authorities.
    static func send(
        _ request: HTTPClientRequest,
        allowing networks: [Network],
        bodyByteLimit: Int = 0,
        within patience: Duration = .seconds(20),
        trust: TLSConfiguration? = nil
    ) async throws -> [UInt8] {
        // The host is read as the client below reads it: `dnsOverride` has no effect on another
        // spelling of the name. `URLComponents` would also decode international names, which no
        // name server knows.
        guard let url = URL(string: request.url), let host = url.host else {
            throw Failure(description: "The address cannot be read.")
        }
        let address = try await Self.address(of: host)
        let isAllowed = networks.contains { $0.contains(address.0) }
        guard isAllowed || address.0.isPublic else {
            let found = host == address.text ? "" : "\(address.text), which is "
            throw Failure(
                description:
                    "\(host) is \(found)not a public address. Allow its network with "
                    + "--webhook-network."
            )
        }
        guard url.scheme == "https" || isAllowed else {
            throw Failure(description: "Requests to public addresses need https.")
        }
        var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
        // Without this, the client looks the name up again. The second answer could be a private
        // address, which nothing checks.
        configuration.dnsOverride = [host: address.text]
        configuration.timeout.connect = .seconds(10)
        configuration.tlsConfiguration = trust
        // A client for one request: `dnsOverride` belongs to the configuration of a client. A
        // shared client could reuse the connection of an earlier lookup, whose address was not
        // checked this time.
        let client = HTTPClient(configuration: configuration)
        let result: Result<[UInt8], any Error>
        do {
            let found = try await withThrowingTaskGroup(of: [UInt8]?.self) { group in
                defer { group.cancelAll() }
                group.addTask { try await answer(of: client, to: request, upTo: bodyByteLimit) }
                // The client's own time limit ends with the head of the answer.
                group.addTask {
                    try await Task.sleep(for: patience)
                    return nil
                }
                return try await group.next() ?? nil
            }
            guard let found else {
                throw Failure(description: "The answer was not complete within \(patience).")
            }
            result = .success(found)
        } catch {
            result = .failure(error)
        }
        // A body that was not read is dropped with its connection.
        try? await client.shutdown()
        return try result.get()
    }

    private static func answer(
        of client: HTTPClient,
        to request: HTTPClientRequest,
        upTo limit: Int
    ) async throws -> [UInt8] {
        let response = try await client.execute(request, deadline: .distantFuture)
        let status = response.status.code
        guard (200..<300).contains(status) else {
            throw Failure(description: "The answer had the status \(status).")
        }
        guard limit > 0 else { return [] }
        do {
            return Array(try await response.body.collect(upTo: limit).readableBytesView)
        } catch is NIOTooManyBytesError {
            throw Failure(description: "The answer has more than \(limit) bytes.")
        }
    }

    /// Looks a host up, on a thread that may wait.
    private static func address(of host: String) async throws -> (InternetAddress, text: String) {
        let found: SocketAddress? = await withCheckedContinuation { continuation in
            // The lookup blocks its thread for as long as the name server takes.
            DispatchQueue.global(qos: .utility).async {
                continuation.resume(
                    returning: try? SocketAddress.makeAddressResolvingHost(host, port: 0)
                )
            }
        }
        guard let found, let address = InternetAddress(found), let text = found.ipAddress else {
            throw Failure(description: "The name \(host) has no address.")
        }
        return (address, text)
    }
}
#endif

// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import Dispatch
import Foundation
import TidemarkLock
import TidemarkModel
import _CryptoExtras

/// A hasher of passwords with scrypt (N = 2^cost, r = 8, p = 1).
///
/// With a cost of 15 each takes 32 MB, so at most two are hashed at a time, and few wait.
final class Passwords: Sendable {
    private static let byteCount = 32
    private static let waitingLimit = 64
    /// The cost of the hashes of new passwords.
    private let cost: Int
    private let queue = DispatchQueue(label: "tidemark.passwords", attributes: .concurrent)
    private let slots = DispatchSemaphore(value: 2)
    private let waiting = Lock(0)

    init(cost: Int) {
        self.cost = cost
    }

    /// Returns the hash of a new password.
    func hash(_ password: String) async throws -> String {
        try await run { [cost] in try Self.hash(password, cost: cost, salt: .random(16)) }
    }

    /// Returns true if a password matches a hash; without a hash it takes the same time to return
    /// false.
    func matches(_ password: String, _ hash: String?) async throws -> Bool {
        // An account without a password has an empty hash. It gets a random salt here, and the
        // comparison below fails.
        let parts = hash?.split(separator: "$") ?? []
        let salt = parts.dropFirst().first.flatMap { [UInt8](base64URL: String($0)) }
        let cost = parts.first?.split(separator: "-").dropFirst().first.flatMap { Int($0) }
        let found = try await run { [standard = self.cost] in
            try Self.hash(password, cost: cost ?? standard, salt: salt ?? .random(16))
        }
        return hash.map { found.utf8.isSame(as: $0.utf8) } ?? false
    }

    private func run(_ work: @escaping @Sendable () throws -> String) async throws -> String {
        let isAllowed = waiting.withLock { count in
            // Each waiting call blocks a thread of the queue, so their number is limited.
            guard count < Self.waitingLimit else { return false }
            count += 1
            return true
        }
        guard isAllowed else {
            throw SyncError(
                .serviceUnavailable,
                "Too many people are signing in at this moment.",
                retryAfter: .seconds(5)
            )
        }
        defer { waiting.withLock { $0 -= 1 } }
        return try await withCheckedThrowingContinuation { continuation in
            // On a thread of the queue: hashing and the wait for a slot would block the event loop
            // of the request, and with it other connections.
            queue.async { [slots] in
                slots.wait()
                defer { slots.signal() }
                continuation.resume(with: Result { try work() })
            }
        }
    }

    private static func hash(_ password: String, cost: Int, salt: [UInt8]) throws -> String {
        let key = try KDF.Scrypt.deriveKey(
            from: Data(password.utf8),
            salt: Data(salt),
            outputByteCount: byteCount,
            rounds: 1 << cost,
            blockSize: 8,
            parallelism: 1
        )
        let bytes = key.withUnsafeBytes { Array($0) }
        return "scrypt-\(cost)-8-1$\(salt.base64URL)$\(bytes.base64URL)"
    }
}
#endif

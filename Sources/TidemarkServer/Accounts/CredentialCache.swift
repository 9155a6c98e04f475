// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import TidemarkLock

/// Credentials in memory, by the names of their records.
///
/// A lookup that began before a credential was dropped does not bring it back.
final class CredentialCache<Credential: Sendable>: Sendable {
    private struct State {
        var credentials: [String: Credential] = [:]
        /// The number of drops; a record that was read before the latest one may have changed.
        var dropCount = 0
    }

    private let state = Lock(State())
    private let limit: Int

    /// Creates a cache that is emptied when it has a number of credentials.
    init(limit: Int) {
        self.limit = limit
    }

    /// Returns the credential with a name; `read` reads it if it is not in memory.
    func credential(
        _ name: String,
        read: () async throws -> Credential?
    ) async throws -> Credential? {
        let (known, dropCount) = state.withLock { ($0.credentials[name], $0.dropCount) }
        if let known { return known }
        guard let found = try await read() else { return nil }
        state.withLock { state in
            guard state.dropCount == dropCount else { return }
            if state.credentials.count >= limit { state.credentials = [:] }
            state.credentials[name] = found
        }
        return found
    }

    /// Drops a credential whose record was changed or deleted.
    func drop(_ name: String) {
        state.withLock { state in
            state.credentials[name] = nil
            state.dropCount += 1
        }
    }
}
#endif

// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import Synchronization
import TidemarkLock

/// The number of changes and ends of credentials.
///
/// A credential that was valid is still valid while the number stays the same, unless its time is
/// over.
final class CredentialChanges: Sendable {
    private let changes = Atomic<UInt64>(0)

    /// The number of changes so far.
    var count: UInt64 { changes.load(ordering: .acquiring) }

    /// Counts a change, after it is in force.
    func add() { changes.wrappingAdd(1, ordering: .releasing) }
}

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
    private let changes: CredentialChanges

    /// Creates a cache that is emptied when it has a number of credentials; it counts those that it
    /// drops.
    init(limit: Int, counting changes: CredentialChanges = CredentialChanges()) {
        self.limit = limit
        self.changes = changes
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
        changes.add()
    }
}
#endif

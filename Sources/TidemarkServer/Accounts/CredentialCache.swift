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

/// A cache of the contents of checked texts, such as the session that a signed token names.
///
/// For conclusions that never change: whether a credential is still valid is asked for each request.
/// Only texts that passed, or that this process made, are kept, so nobody can fill it without
/// credentials.
final class CheckedTexts<Content: Sendable>: Sendable {
    // Texts are found by hashes with a seed of this process, so the time of a search tells nothing
    // about the texts that are there.
    private let contents = Lock([String: Content]())
    private let limit: Int

    /// Creates a cache that is emptied when it has a number of texts.
    init(limit: Int) {
        self.limit = limit
    }

    /// Returns the content of a text; `nil` if it was not checked yet.
    subscript(text: String) -> Content? { contents.withLock { $0[text] } }

    /// Keeps the content of a text that passed its check.
    func keep(_ content: Content, of text: String) {
        contents.withLock { contents in
            if contents.count >= limit { contents = [:] }
            contents[text] = content
        }
    }
}
#endif

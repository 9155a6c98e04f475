// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import Tidemark
public import TidemarkDatabase
public import TidemarkModel

/// The storage that one container may use, and its share of the server's capacity.
public struct ContainerLimits: RecordCodable, Hashable, Sendable {
    /// The name of its records.
    public static let recordType = "Container"
    /// The record's name, which is derived from the identifier.
    public var id: RecordName
    /// The container's identifier.
    public var container: String
    /// The maximum bytes of all records and assets; `nil` if only the disk limits them.
    public var bytes: Int?
    /// The maximum bytes of one private database; `nil` for the store's limit.
    public var privateBytes: Int?
    /// The maximum bytes of one public database; `nil` for the store's limit.
    public var publicBytes: Int?
    /// The maximum number of concurrent requests; `nil` for ``ServerOptions/requestsPerContainer``.
    public var requests: Int?
    /// The maximum number of concurrent queries and deltas; `nil` for
    /// ``ServerOptions/scansPerContainer``.
    public var scans: Int?

    /// Creates the settings of a container without its own limits.
    public init(_ container: ContainerID) {
        id = Self.recordName(of: container.identifier)
        self.container = container.identifier
    }

    static func recordName(of identifier: String) -> RecordName {
        RecordName("container-" + [UInt8].sha256(identifier).hexadecimal)
    }

    /// The quota that the store enforces.
    var quota: ContainerQuota {
        var quota = ContainerQuota()
        quota.bytes = bytes
        quota.bytesPerPrivateDatabase = privateBytes
        quota.bytesPerPublicDatabase = publicBytes
        return quota
    }

    /// Refuses limits under which nothing could be saved or requested.
    func check() throws(SyncError) {
        for limit in [bytes, privateBytes, publicBytes, requests, scans] {
            guard let limit, limit < 1 else { continue }
            throw SyncError(
                .invalidArguments,
                "A limit of a container must be at least 1; it is \(limit)."
            )
        }
        guard !container.isEmpty, container != Registry.container.identifier else {
            throw SyncError(
                .badContainer,
                "The container \"\(container)\" cannot have limits; name a container of apps."
            )
        }
    }
}

/// A container that the server knows.
public struct ContainerEntry: Codable, Sendable {
    /// Its limits.
    public var limits: ContainerLimits
    /// True if it was added, rather than known by a token, a key or its records alone.
    public var isRegistered: Bool
    /// The number of API tokens for it.
    public var tokenCount: Int
    /// The number of keys for it.
    public var keyCount: Int
    /// True if it holds something.
    public var hasZones: Bool
}

extension Directory {
    /// Returns the limits of a container.
    func limits(of container: ContainerID) -> ContainerLimits? {
        state.withLock { $0.containers[container] }
    }

    /// Every container that the server knows, in the order of their identifiers.
    func containerEntries() async throws -> [ContainerEntry] {
        let registered = state.withLock { $0.containers }
        let tokens = try await tokens().map { ContainerID($0.value.container) }
        let keys = try await keys().map { ContainerID($0.value.container) }
        let used = Set(try store.containers())
        return Set(registered.keys).union(tokens).union(keys).union(used)
            .subtracting([Registry.container])
            .sorted()
            .map { id in
                ContainerEntry(
                    limits: registered[id] ?? ContainerLimits(id),
                    isRegistered: registered[id] != nil,
                    tokenCount: tokens.count { $0 == id },
                    keyCount: keys.count { $0 == id },
                    hasZones: used.contains(id)
                )
            }
    }

    /// Replaces the limits of a container.
    func setLimits(_ wanted: ContainerLimits) async throws {
        try wanted.check()
        var limits = wanted
        limits.id = ContainerLimits.recordName(of: wanted.container)
        try await changeLimits { [limits] in
            // The record first: limits that are in force without a record would be gone after a
            // restart.
            try await self.registry.containers.save(limits, policy: .replace)
            self.state.withLock { $0.containers[ContainerID(limits.container)] = limits }
            try self.applyQuotas()
        }
    }

    /// Performs a change after all earlier ones.
    ///
    /// Otherwise, of two changes at once, one could be the last in the records and the other the
    /// last in force.
    private func changeLimits(_ change: @escaping @Sendable () async throws -> Void) async throws {
        let task = limitChanges.withLock { last in
            let task = Task { [last] in
                _ = await last?.result
                try await change()
            }
            last = task
            return task
        }
        try await task.value
    }

    /// Closes a container: ends its tokens, keys and sessions, and deletes its limits.
    ///
    /// The data of the container stays.
    func closeContainer(_ identifier: String) async throws {
        let container = ContainerID(identifier)
        guard try await containerEntries().contains(where: { $0.limits.container == identifier })
        else {
            throw SyncError(
                .unknownItem,
                "There is no container \(identifier) on the server.",
                remedy: "Name a container that `tidemark containers list` prints."
            )
        }
        // Tokens first: signing in to a container needs one, so no sign-in that begins later adds a
        // session.
        for token in try await tokens() where token.value.container == identifier {
            try await revokeToken(token.value.id.text)
        }
        for key in try await keys() where key.value.container == identifier {
            try await revokeKey(key.value.id.text)
        }
        try await end(openSessions().filter { $0.value.container == identifier })
        // Last: if a step above fails, a registered container is still listed, and closing it can
        // be repeated.
        try await changeLimits {
            let name = ContainerLimits.recordName(of: identifier)
            try await self.registry.containers.delete(name)
            self.state.withLock { $0.containers[container] = nil }
            try self.applyQuotas()
        }
    }

    /// Reads the limits that were set before, and applies them to a store that is open for writing.
    func readLimits() async throws {
        let found = try await registry.containers.all(ContainerLimits.self).map(\.value)
        state.withLock { state in
            for limits in found { state.containers[ContainerID(limits.container)] = limits }
        }
        // A reader saves nothing.
        guard store.access != .reading else { return }
        try applyQuotas()
    }

    private func applyQuotas() throws {
        // In one step. Otherwise, of two calls at once, the one that read the older limits could be
        // the last to pass them on.
        try quotaOrder.withLock { (_) throws(SyncError) in
            let quotas = state.withLock { $0.containers.mapValues(\.quota) }
            try store.setQuotas(quotas)
        }
    }
}
#endif

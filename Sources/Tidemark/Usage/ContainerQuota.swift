// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLock
import TidemarkModel

/// The quota of one container, where it differs from that of all containers.
public struct ContainerQuota: Hashable, Sendable {
    /// Bytes of all records and assets of the container, in all of its databases and environments;
    /// `nil` leaves it to the disk.
    public var bytes: Int?
    /// Bytes in one private database; `nil` leaves it to ``TidemarkModel/Limits/bytesPerPrivateDatabase``.
    public var bytesPerPrivateDatabase: Int?
    /// Bytes in one public database; `nil` leaves it to ``TidemarkModel/Limits/bytesPerPublicDatabase``.
    public var bytesPerPublicDatabase: Int?

    /// Creates a quota that equals the one of all containers.
    public init() {}

    fileprivate func quota(of scope: DatabaseScope) -> Int? {
        scope == .public ? bytesPerPublicDatabase : bytesPerPrivateDatabase
    }
}

/// The quotas of an open store, which also apply after its parts were closed and opened again.
final class QuotaSettings: Sendable {
    let state: Lock<Quotas>
    /// The uploads that quotas limit before a record names them.
    let unnamed = UnnamedUploads()

    init(limits: Limits) {
        state = Lock(Quotas(limits: limits))
    }
}

/// The quotas of databases and containers: those set at open, and those set for single containers
/// since.
struct Quotas {
    let limits: Limits
    /// By container.
    private(set) var ofContainers: [ContainerID: ContainerQuota] = [:]
    /// The number of times that the quotas were set.
    private(set) var generation = 0

    init(limits: Limits) {
        self.limits = limits
    }

    mutating func set(_ quotas: [ContainerID: ContainerQuota]) {
        ofContainers = quotas.filter { $0.value != ContainerQuota() }
        // A commit that was appended under other quotas compares this number (`Writer.append`).
        generation += 1
    }

    /// True if some database has one.
    var isSome: Bool {
        limits.bytesPerPublicDatabase != nil || limits.bytesPerPrivateDatabase != nil
            || !ofContainers.isEmpty
    }

    /// Returns the quota of a database and that of its container; `nil` if there is none.
    func quotas(of database: DatabaseID) -> (database: Int?, container: Int?) {
        let own = ofContainers[database.container]
        return (own?.quota(of: database.scope) ?? limits.quota(of: database.scope), own?.bytes)
    }

    func has(_ database: DatabaseID) -> Bool {
        let quotas = quotas(of: database)
        return quotas.database != nil || quotas.container != nil
    }
}

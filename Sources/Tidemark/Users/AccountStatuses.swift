// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkModel

/// Whose account is meant: a user, where system zones lie for a container and environment.
struct AccountPlace: Hashable, Sendable {
    var database: DatabaseID
    var user: UserID
}

/// Statuses of accounts that were read, so that request after request does not read them again.
///
/// All of them go when a system zone changes, or when there are too many.
struct AccountStatuses: Sendable {
    private static let countLimit = 10_000

    private var statuses: [AccountPlace: AccountStatus] = [:]
    /// The last change of a system zone when the statuses were read.
    private var sequence: UInt64 = 0

    func status(
        of user: UserID,
        in database: DatabaseID,
        asOf sequence: UInt64
    ) -> AccountStatus? {
        guard sequence == self.sequence else { return nil }
        return statuses[AccountPlace(database: database, user: user)]
    }

    mutating func keep(
        _ status: AccountStatus,
        of user: UserID,
        in database: DatabaseID,
        asOf sequence: UInt64
    ) {
        guard sequence >= self.sequence else { return }
        if sequence > self.sequence || statuses.count >= Self.countLimit { statuses = [:] }
        self.sequence = sequence
        statuses[AccountPlace(database: database, user: user)] = status
    }
}

extension Engine {
    /// The status of a user's account in a database's container and environment, as far as it is
    /// durable.
    ///
    /// `__defaultOwner__` is whoever asks, and always available. O(1).
    func accountStatus(
        of user: UserID,
        in database: DatabaseID
    ) throws(SyncError) -> AccountStatus {
        if user == .current { return .available }
        let home = database.ofSystemZones
        let last = views.overlay.withLock { $0.lastSystemSequence }
        if let known = statuses.withLock({ $0.status(of: user, in: home, asOf: last) }) {
            return known
        }
        let picture = try picture(.visible)
        let account = try picture.facts.account(of: .user(user), in: home)?.account
        let status = account?.status ?? .available
        // Otherwise this picture shows an older state than the next one will.
        let asOf = picture.lastSystemSequence
        if picture.bound >= asOf {
            statuses.withLock { $0.keep(status, of: user, in: home, asOf: asOf) }
        }
        return status
    }

    /// Why a caller's account cannot be used for a call; `nil` if it can.
    ///
    /// Reading the public database needs none; writing it needs one that is signed in.
    func accountRefusal(of caller: Caller, writes: Bool) throws(SyncError) -> SyncError? {
        guard let user = caller.user, writes || caller.database.scope != .public,
            let error = try accountStatus(of: user, in: caller.database).refusal(of: user),
            caller.database.scope != .public || error.code == .notAuthenticated
        else { return nil }
        return error
    }
}

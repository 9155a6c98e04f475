// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkModel

extension Reader {
    /// Returns the durable status of a user's account in a database's container and environment.
    ///
    /// `__defaultOwner__` is the caller, and always available. O(1).
    func accountStatus(
        of user: UserID,
        in database: DatabaseID
    ) throws(SyncError) -> AccountStatus {
        if user == .current { return .available }
        let home = database.ofSystemZones
        // Without a picture, because this runs for every call.
        let last = views.overlay.withLock { $0.lastSystemSequence }
        if let known = statuses.withLock({ $0.value(of: user, in: home, asOf: last) }) {
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

    /// Returns the reason why a caller's account cannot be used for a call; `nil` if it can.
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

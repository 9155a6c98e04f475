// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
/// The credentials with which a client began to listen, and the last check of them.
///
/// One change wakes many listeners at once. A listener looks its credentials up again only if a
/// credential of the server has changed since its last check, or after some time.
struct HeldCredentials {
    private let found: Callers.Found
    /// The number of changes of credentials before the last check; `nil` before the first one.
    private var changeCount: UInt64?
    /// The time of the last check, in milliseconds since 1970.
    private var time: Int64 = 0

    /// The time after which credentials are looked up again, in milliseconds.
    ///
    /// A session that is not used ends without a change. Its lifetime is at least 30 minutes, and
    /// each look-up is a use.
    private static let lifetime: Int64 = 20_000

    init(_ found: Callers.Found) {
        self.found = found
    }

    /// Returns true if the credentials are still valid.
    mutating func areGood(in directory: Directory) async throws -> Bool {
        let now = Clock.now()
        // Read before the look-up, so that a change during it counts for the next check.
        let changeCount = directory.changes.count
        if changeCount == self.changeCount, now >= time, now < time + Self.lifetime {
            // The token of an issuer ends at a moment that it states.
            return found.signIn.map { now < $0.end } ?? true
        }
        guard try await directory.isGood(found) else { return false }
        self.changeCount = changeCount
        time = now
        return true
    }
}
#endif

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkModel

/// Which users have sent or fetched which bytes since the store was opened.
///
/// In a database that others write to, this is what lets a user name bytes: a checksum alone would
/// tell whether somebody else holds them, and give them away.
struct KnownAssets: Sendable {
    private struct Knowledge: Hashable {
        var blob: HeldBlob
        var user: UserID?
    }

    private var known: Set<Knowledge> = []
    /// Beyond so many all are forgotten; clients then send again.
    private static let countLimit = 100_000

    /// Takes note that a caller has had some bytes.
    mutating func note(_ blob: HeldBlob, by caller: Caller) {
        if known.count >= Self.countLimit { known = [] }
        known.insert(Knowledge(blob: blob, user: caller.user))
    }

    /// Whether a caller may name bytes without sending them again.
    ///
    /// Whoever writes to a private database owns all that is in it.
    func mayName(_ blob: HeldBlob, _ caller: Caller) -> Bool {
        caller.database.scope == .private
            || known.contains(Knowledge(blob: blob, user: caller.user))
    }
}

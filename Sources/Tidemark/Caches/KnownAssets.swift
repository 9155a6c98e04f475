// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkModel

/// The users that have uploaded or fetched each blob since the store was opened.
///
/// In a database that other users write to, a user may name only bytes that the user has. Otherwise
/// a checksum alone would reveal that another user holds the bytes, and would give access to them.
struct KnownAssets: Sendable {
    private struct Knowledge: Hashable {
        var blob: HeldBlob
        var user: UserID?
    }

    private var known: Set<Knowledge> = []
    /// The maximum number of entries.
    ///
    /// Beyond it all are forgotten, and clients upload the bytes again.
    private static let countLimit = 100_000

    /// Takes note that a caller has had some bytes.
    mutating func note(_ blob: HeldBlob, by caller: Caller) {
        if known.count >= Self.countLimit { known = [] }
        known.insert(Knowledge(blob: blob, user: caller.user))
    }

    /// Returns true if a caller may name bytes without uploading them again.
    ///
    /// A user that writes to a private database owns everything in it.
    // The answer is only about the right to name the bytes. `BlobStore.durableStatus(of:)` says if
    // they exist.
    func mayName(_ blob: HeldBlob, _ caller: Caller) -> Bool {
        caller.database.scope == .private
            || known.contains(Knowledge(blob: blob, user: caller.user))
    }
}

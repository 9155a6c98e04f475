// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkModel

/// One of the databases that a user sees.
///
/// Programs write `CKDatabase.Scope`.
public enum CKDatabaseScope: Int, Sendable {
    /// One per container, visible to every user.
    case `public` = 1
    /// One per user, seen by its owner.
    case `private` = 2
    /// The database of the records that others share with the user.
    case shared = 3

    var model: DatabaseScope {
        switch self {
        case .public: .public
        case .private: .private
        case .shared: .shared
        }
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Work in one database.
///
/// Unchecked: as ``CKOperation`` says.
open class CKDatabaseOperation: CKOperation, @unchecked Sendable {
    /// The database; without one, the private one of the app's container.
    open var database: CKDatabase? {
        didSet {
            guard let database else { return }
            take(database.device, database.container, database.defaults)
        }
    }

    override var scope: CKDatabase.Scope { database?.databaseScope ?? .private }
}

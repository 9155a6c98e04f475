// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Work in one database.
///
/// Unchecked: see ``CKOperation``.
open class CKDatabaseOperation: CKOperation, @unchecked Sendable {
    /// The database; without one, the private one of the app's container.
    open var database: CKDatabase? {
        didSet {
            guard let database else { return }
            // Here and not in `add(_:)` alone: a program may set the database and call `start()`
            // itself.
            take(database.device, database.container, database.defaults)
        }
    }

    /// Casts an operation that a class method made to the class on which the method was called.
    ///
    /// Stops the program for a subclass, which has initializers of its own.
    static func own(_ operation: CKDatabaseOperation) -> Self {
        guard let own = operation as? Self else {
            preconditionFailure("A \(Self.self) is made by an initialiser of its own.")
        }
        return own
    }

    override var scope: CKDatabase.Scope { database?.databaseScope ?? .private }
}

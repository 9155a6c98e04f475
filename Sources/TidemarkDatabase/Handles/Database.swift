// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import TidemarkModel

/// One database as one device of one user sees it, with the caller of every request.
///
/// ```swift
/// let store = try Store.open(at: "team.tide", access: .creating)
/// let anna = store.database(of: "anna", device: "phone")
/// let garden = try await anna.createZone("garden")
/// ```
///
/// A handle is a value without connection and state; create as many as you like. It works on any
/// ``DatabaseService``. Its functions throw ``SyncError``, and `CancellationError` in a task that was
/// cancelled. They are declared as `throws` without a type, because Swift 6.3 does not compile some
/// loops that catch a typed error.
public struct Database: Sendable {
    /// The service that answers requests.
    public let service: any DatabaseService
    /// The caller of every request: the user, the device and the database.
    public let caller: Caller

    /// Creates a handle for a caller.
    public init(_ service: any DatabaseService, as caller: Caller) {
        self.service = service
        self.caller = caller
    }

    /// The id of the database.
    public var id: DatabaseID { caller.database }

    /// The user; `nil` if nobody is signed in.
    public var user: UserID? { caller.user }

    /// The user's own private database.
    public var privateDatabase: Database { at(.private) }

    /// The database that every user sees.
    public var publicDatabase: Database { at(.public) }

    /// The records that others share with the user.
    public var sharedDatabase: Database { at(.shared) }

    private func at(_ scope: DatabaseScope) -> Database {
        // A copy keeps the device and the build, which every commit records.
        var caller = caller
        caller.database = id.sibling(scope, of: caller.user ?? .current)
        return Database(service, as: caller)
    }
}

extension DatabaseService {
    /// Returns the private database of a user, as one of the user's devices sees it.
    ///
    /// ``Database/publicDatabase`` and ``Database/sharedDatabase`` return the others. Each named
    /// user has their own private database. Without a name it is that of ``UserID/current``, the
    /// default for apps with one user and for the command line.
    public func database(
        of user: String = UserID.current.userRecordName,
        device: String? = nil,
        build: String? = nil,
        container: String = ContainerID.standard.identifier,
        environment: Environment = .development
    ) -> Database {
        let user = UserID(user)
        let database = DatabaseID(
            container: ContainerID(container),
            environment: environment,
            owner: user
        )
        return Database(
            self,
            as: Caller(database: database, user: user, device: device, build: build)
        )
    }
}

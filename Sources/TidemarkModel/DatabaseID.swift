// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// An app's container: one schema, two environments, three databases per user.
public struct ContainerID: Hashable, Comparable, ExpressibleByStringLiteral, Sendable {
    package let name: Name

    /// Wraps an identifier such as `iCloud.com.example.notes`.
    public init(_ identifier: String) {
        name = Name(identifier)
    }

    /// Wraps a literal.
    public init(stringLiteral value: String) {
        self.init(value)
    }

    /// The identifier, which begins with `iCloud.` if Apple created the container.
    public var identifier: String { name.string }

    /// The default container of the command line and of an embedded store.
    public static let standard = ContainerID("iCloud.tidemark")

    /// The container of the server's own records: accounts, sessions, tokens, keys.
    ///
    /// Callers below administrator cannot access it. Exports of whole stores omit it unless they
    /// are asked to include it.
    public static let server = ContainerID("tidemark.server")

    /// Returns true if the first sorts before the second, as bytes.
    public static func < (lhs: ContainerID, rhs: ContainerID) -> Bool { lhs.name < rhs.name }
}

/// One of a container's two separate environments, each with its own schema and data.
///
/// Raw values are on disk: never change them.
public enum Environment: String, Hashable, CaseIterable, Sendable {
    /// The environment in which saving records extends the schema.
    case development
    /// Schema is fixed until it is promoted from development.
    case production
}

/// One of the databases that a user sees.
///
/// Raw values are CloudKit's, and on disk.
public enum DatabaseScope: Int, Hashable, CaseIterable, Sendable {
    /// One per container, visible to every user.
    case `public` = 1
    /// One per user, seen by its owner.
    case `private` = 2
    /// The zones and records that others share with a user, in their private databases.
    case shared = 3

    /// The name in paths and flags: `public`, `private`, `shared`.
    public var name: String {
        switch self {
        case .public: "public"
        case .private: "private"
        case .shared: "shared"
        }
    }

    /// Reads the name in paths and flags.
    public init?(name: String) {
        guard let scope = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = scope
    }
}

/// A user of a container, by the name of the user's record.
public struct UserID: Hashable, Comparable, ExpressibleByStringLiteral, Sendable {
    package let name: Name

    /// Wraps a user record's name, such as `_` and 32 hexadecimal digits.
    public init(_ userRecordName: String) {
        name = Name(userRecordName)
    }

    /// Wraps a literal.
    public init(stringLiteral value: String) {
        self.init(value)
    }

    /// The name of the user's record.
    public var userRecordName: String { name.string }

    /// CloudKit's name for the current user, the user of the caller.
    public static let current = UserID("__defaultOwner__")

    /// Returns true if the first sorts before the second, as bytes.
    public static func < (lhs: UserID, rhs: UserID) -> Bool { lhs.name < rhs.name }
}

/// One database, which contains zones.
public struct DatabaseID: Hashable, Sendable {
    /// The app's container.
    public var container: ContainerID
    /// The container's environment.
    public var environment: Environment
    /// Public, private or shared.
    public let scope: DatabaseScope
    /// The user who owns a private or shared database.
    ///
    /// The public database has no owner, and its value is always ``UserID/current``.
    public let owner: UserID

    /// Creates the id of a database.
    ///
    /// The owner of the public database is ignored.
    public init(
        container: ContainerID = .standard,
        environment: Environment = .development,
        scope: DatabaseScope = .private,
        owner: UserID = .current
    ) {
        self.container = container
        self.environment = environment
        self.scope = scope
        // A container has one public database. With owners it would have several ids.
        self.owner = scope == .public ? .current : owner
    }

    /// The database of the command line, and of a change stream line that names none.
    public static let standard = DatabaseID()

    /// Returns another database of the same container and environment.
    package func sibling(_ scope: DatabaseScope, of owner: UserID) -> DatabaseID {
        DatabaseID(container: container, environment: environment, scope: scope, owner: owner)
    }
}

extension DatabaseID: CustomStringConvertible {
    /// `container/environment/scope`, followed by the owner if there is one.
    public var description: String {
        let place = "\(container.identifier)/\(environment.rawValue)/\(scope.name)"
        return owner == .current ? place : "\(place)/\(owner.userRecordName)"
    }
}

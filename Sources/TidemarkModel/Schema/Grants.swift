// Tidemark
// SPDX-License-Identifier: Apache-2.0

extension Schema {
    /// A named set of users, by their relation to a record or to the container.
    public struct Role: NamedItem, Hashable, Sendable {
        /// The role's name.
        public let name: Name

        /// Names a role.
        public init(_ name: Name) {
            self.name = name
        }

        /// Anyone, signed in or not.
        public static let world = Role("_world")
        /// All users who are signed in.
        public static let icloud = Role("_icloud")
        /// The creator of the record.
        public static let creator = Role("_creator")

        /// True for the three roles that every container has.
        public var isBuiltIn: Bool { self == .world || self == .icloud || self == .creator }
    }

    /// The operations that a role may perform on the records of a type in the public database.
    ///
    /// Raw values are on disk.
    public struct Permissions: OptionSet, Hashable, Sendable {
        /// One bit for each permission.
        public let rawValue: UInt8

        /// Wraps bits.
        @inlinable
        public init(rawValue: UInt8) {
            self.rawValue = rawValue
        }

        /// Fetching and finding records.
        @inlinable public static var read: Permissions { Permissions(rawValue: 1) }
        /// Saving records that do not exist.
        @inlinable public static var create: Permissions { Permissions(rawValue: 2) }
        /// Changing and deleting records.
        @inlinable public static var write: Permissions { Permissions(rawValue: 4) }

        /// All three.
        static let all: Permissions = [.read, .create, .write]

        /// Each permission that is here, in the order in which CloudKit exports them.
        var each: [Permissions] { [.read, .create, .write].filter(contains) }
    }

    /// The permissions of a role.
    public struct Grant: NamedItem, Hashable, Sendable {
        /// The role that has the permissions.
        public let role: Role
        /// The permissions of the role.
        public let permissions: Permissions

        /// Creates a grant of permissions to a role.
        public init(_ permissions: Permissions, to role: Role) {
            self.permissions = permissions
            self.role = role
        }

        var name: Name { role.name }

        /// The grants of a record type that its first record creates.
        ///
        /// Everyone may read, users who are signed in may create, and creators may write their own
        /// records.
        public static let standard = [
            Grant(.write, to: .creator), Grant(.create, to: .icloud), Grant(.read, to: .world),
        ]
    }
}

extension Schema.Role: CustomStringConvertible {
    /// The role's name.
    public var description: String { name.string }
}

extension Schema.Permissions: CustomStringConvertible {
    /// The permissions in the schema language: `READ, CREATE, WRITE`.
    public var description: String { each.map(\.word).joined(separator: ", ") }

    private var word: String {
        switch self {
        case .read: "READ"
        case .create: "CREATE"
        default: "WRITE"
        }
    }
}

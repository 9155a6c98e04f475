// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The user and the roles of a caller that accesses the public database.
public struct Accessor: Hashable, Sendable {
    /// The user; `nil` if nobody is signed in.
    public var user: UserID?
    /// The custom roles that the user has.
    public var roles: [Schema.Role]

    /// Creates an accessor.
    public init(_ user: UserID?, roles: [Schema.Role] = []) {
        self.user = user
        self.roles = roles
    }

    /// Returns true if a role applies, for a record that a user created.
    ///
    /// Custom roles require a user too.
    public func has(_ role: Schema.Role, towards creator: UserID? = nil) -> Bool {
        if role == .world { return true }
        guard let user else { return false }
        if role == .icloud { return true }
        // An unknown creator is `nil`, which equals no user: nobody has the role for such a record.
        if role == .creator { return creator == user }
        return roles.contains(role)
    }
}

/// The reason why a caller may not access a record of the public database.
public struct AccessRefusal: Error, Hashable, Sendable {
    /// The requested permission, exactly one.
    public let permission: Schema.Permissions
    /// The record type.
    public let recordType: Name
    /// The user and roles that were refused.
    public let accessor: Accessor
    /// The roles that have the permission, in the order of their names.
    public let allowed: [Schema.Role]

    /// True if signing in might help.
    ///
    /// The caller is not signed in, and the permission requires an account or is granted to a role.
    public var needsAccount: Bool {
        accessor.user == nil && (permission != .read || !allowed.isEmpty)
    }

    /// Returns the error for the caller, with or without the rule that refused.
    ///
    /// The rule is only for callers who may see the container's configuration: in development every
    /// caller.
    public func error(explained: Bool) -> SyncError {
        let operation = "\(permission) operation not permitted"
        guard explained else {
            return SyncError(needsAccount ? .notAuthenticated : .permissionFailure, operation + ".")
        }
        let rule =
            allowed.isEmpty
            ? "grants \(permission) to nobody"
            : "grants \(permission) to \(allowed.map(\.description).joined(separator: ", "))"
        let caller =
            accessor.user == nil
            ? "nobody is signed in"
            : accessor.roles.isEmpty
                ? "the caller has no such role"
                : "the caller has \(accessor.roles.map(\.description).joined(separator: ", "))"
        return SyncError(
            needsAccount ? .notAuthenticated : .permissionFailure,
            "\(operation): record type \(recordType) \(rule), and \(caller)."
        )
    }
}

extension Schema {
    /// Returns the reason why a caller may not access a record of the public database.
    ///
    /// Returns `nil` if the access is allowed, and allocates nothing in this case.
    ///
    /// The permissions of a caller's roles add up. A record type that the schema does not have
    /// grants nothing. Creating and writing always require a user.
    ///
    /// The permission is one of read, create and write. The creator is `nil` if there is no record
    /// yet.
    public func refusal(
        of permission: Permissions,
        on recordType: Name,
        createdBy creator: UserID? = nil,
        to accessor: Accessor
    ) -> AccessRefusal? {
        let grants = self[recordType]?.grants ?? []
        // Without a user only reading can be granted, whatever a schema says (Docs/schema.md,
        // "Access in the public database").
        if accessor.user != nil || permission == .read {
            // Permissions add up: one grant to any role of the caller is enough.
            let isAllowed = grants.contains { grant in
                grant.permissions.contains(permission) && accessor.has(grant.role, towards: creator)
            }
            if isAllowed { return nil }
        }
        return AccessRefusal(
            permission: permission,
            recordType: recordType,
            accessor: accessor,
            allowed: grants.filter { $0.permissions.contains(permission) }.map(\.role)
        )
    }
}

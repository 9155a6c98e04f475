// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// Who wants something in the public database.
public struct Accessor: Hashable, Sendable {
    /// The user; `nil` for somebody who is not signed in.
    public var user: UserID?
    /// The custom roles that the user has.
    public var roles: [Schema.Role]

    /// Describes who asks.
    public init(_ user: UserID?, roles: [Schema.Role] = []) {
        self.user = user
        self.roles = roles
    }

    /// Whether a role applies, towards a record that somebody created.
    ///
    /// Custom roles need a user too.
    public func has(_ role: Schema.Role, towards creator: UserID? = nil) -> Bool {
        if role == .world { return true }
        guard let user else { return false }
        if role == .icloud { return true }
        if role == .creator { return creator == user }
        return roles.contains(role)
    }
}

/// Why somebody may not do something with a record of the public database.
public struct AccessRefusal: Error, Hashable, Sendable {
    /// What was asked for: one permission.
    public let permission: Schema.Permissions
    /// The record type.
    public let recordType: Name
    /// Who asked.
    public let accessor: Accessor
    /// Who has the permission, in the order of their names.
    public let allowed: [Schema.Role]

    /// Whether signing in might help: nobody is signed in, and what is asked needs an account or is
    /// granted to somebody who has one.
    public var needsAccount: Bool {
        accessor.user == nil && (permission != .read || !allowed.isEmpty)
    }

    /// The error for the caller, with or without the rule that refused.
    ///
    /// The rule is for those who may know how the container is set up: in development anybody.
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
    /// Why somebody may not read, create or write a record of the public database; `nil` if they
    /// may.
    ///
    /// What the roles of a caller may do adds up. A record type that the schema does not have grants
    /// nothing. Creating and writing always need a user. Nothing is allocated where the answer is
    /// `nil`.
    ///
    /// A permission is one of read, create, write. The creator is `nil` where there is none yet.
    public func refusal(
        of permission: Permissions,
        on recordType: Name,
        createdBy creator: UserID? = nil,
        to accessor: Accessor
    ) -> AccessRefusal? {
        let grants = self[recordType]?.grants ?? []
        if accessor.user != nil || permission == .read {
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

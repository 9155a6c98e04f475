// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// What an operator has said about a user.
///
/// A user about whom nothing was said has an available account, and cannot be found by others.
public struct UserAccount: Hashable, Codable, Sendable {
    /// Who it is.
    public let user: UserID
    /// E-mail addresses; each belongs to one user.
    public var emails: [String] = []
    /// Phone numbers; each belongs to one user.
    public var phones: [String] = []
    /// The person's name.
    public var name = PersonName()
    /// Whether others may find the user by an address, a number or the record's name.
    public var isDiscoverable = false
    /// Whether the account can be used.
    public var status = AccountStatus.available
    /// Whom the user has in their contacts.
    public var contacts: [UserLookup] = []

    /// Describes a user about whom nothing was said.
    public init(_ user: UserID) {
        self.user = user
    }

    /// The e-mail addresses and phone numbers, as they are looked up.
    package var addresses: [UserLookup] {
        emails.map { UserLookup.email($0).normalized }
            + phones.map { UserLookup.phone($0).normalized }
    }
}

/// What somebody may know about a user whom they have found.
public struct UserIdentity: Hashable, Codable, Sendable {
    /// Who it is.
    public var user: UserID
    /// What they were found by; `nil` if they were not looked for.
    public var lookup: UserLookup?
    /// The person's name.
    public var name: PersonName
    /// Whether the user has an account: CloudKit's `hasiCloudAccount`.
    public var hasAccount: Bool

    /// Describes a user.
    public init(
        user: UserID,
        lookup: UserLookup? = nil,
        name: PersonName = PersonName(),
        hasAccount: Bool = true
    ) {
        self.user = user
        self.lookup = lookup
        self.name = name
        self.hasAccount = hasAccount
    }
}

extension UserAccount {
    /// What those may know who found the user.
    package func identity(by lookup: UserLookup?) -> UserIdentity {
        UserIdentity(
            user: user,
            lookup: lookup,
            name: name,
            hasAccount: status != .noAccount
        )
    }
}

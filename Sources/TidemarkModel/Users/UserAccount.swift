// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The settings of a user that an operator has made.
///
/// A user without settings has an available account, and cannot be found by others.
public struct UserAccount: Hashable, Codable, Sendable {
    /// The user of the account.
    public let user: UserID
    /// E-mail addresses; each belongs to one user.
    public var emails: [String] = []
    /// Phone numbers; each belongs to one user.
    public var phones: [String] = []
    /// The person's name.
    public var name = PersonName()
    /// True if others may find the user by an address, a number or the record's name.
    public var isDiscoverable = false
    /// The availability of the account.
    public var status = AccountStatus.available
    /// The contacts of the user.
    public var contacts: [UserLookup] = []

    /// Creates an account without settings.
    public init(_ user: UserID) {
        self.user = user
    }

    /// The e-mail addresses and phone numbers, in the form for lookups.
    package var addresses: [UserLookup] {
        // In the form in which `UserLookup` compares, so that layout and case do not matter.
        emails.map { UserLookup.email($0).normalized }
            + phones.map { UserLookup.phone($0).normalized }
    }
}

/// The details of a user that are visible to a user who has found them.
public struct UserIdentity: Hashable, Codable, Sendable {
    /// The user.
    public var user: UserID
    /// The lookup that found the user; `nil` if there was no lookup.
    public var lookup: UserLookup?
    /// The person's name.
    public var name: PersonName
    /// True if the user has an account: CloudKit's `hasiCloudAccount`.
    public var hasAccount: Bool

    /// Creates a user.
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
    /// Returns the details that are visible to a user who found this one by a lookup.
    package func identity(by lookup: UserLookup?) -> UserIdentity {
        UserIdentity(
            user: user,
            lookup: lookup,
            name: name,
            hasAccount: status != .noAccount
        )
    }
}

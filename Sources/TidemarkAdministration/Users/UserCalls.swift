// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Tidemark
public import TidemarkModel

/// Requests the accounts of the users of a container.
public struct UsersCall: SingleAnswerCall {
    /// See `AdministrationCall`.
    public static let name = "users"
    /// See `AdministrationCall`.
    public typealias Answer = [UserAccount]

    /// The container.
    public var container: ContainerID
    /// Its environment.
    public var environment: Environment
    /// One user; `nil` for all users with an account.
    public var user: UserID?

    /// Describes the call.
    public init(of container: ContainerID, in environment: Environment, user: UserID? = nil) {
        self.container = container
        self.environment = environment
        self.user = user
    }

    /// See `SingleAnswerCall`.
    public func answer(from administration: StoreAdministration) async throws -> [UserAccount] {
        let store = try administration.store
        guard let user else { return try store.accounts(of: container, in: environment) }
        // A user without an account gives an empty list, as a filter would.
        return [try store.account(of: user, of: container, in: environment)].compactMap(\.self)
    }
}

/// Sets the account of a user, replacing the earlier one.
public struct SetUserCall: SingleAnswerCall {
    /// See `AdministrationCall`.
    public static let name = "users-set"
    /// See `AdministrationCall`.
    public var writes: Bool { true }

    /// The container.
    public var container: ContainerID
    /// Its environment.
    public var environment: Environment
    /// The account of the user.
    public var account: UserAccount

    /// Describes the call.
    public init(_ account: UserAccount, of container: ContainerID, in environment: Environment) {
        self.account = account
        self.container = container
        self.environment = environment
    }

    /// See `SingleAnswerCall`.
    public func answer(from administration: StoreAdministration) async throws -> Nothing {
        try await administration.store.setUser(account, of: container, in: environment)
        return Nothing()
    }
}

/// Looks users up as an app would for its user.
public struct LookUpUsersCall: SingleAnswerCall {
    /// See `AdministrationCall`.
    public static let name = "users-lookup"
    /// See `AdministrationCall`.
    public typealias Answer = [UserIdentity?]

    /// The caller and its database.
    public var caller: Caller
    /// The users to look up; `nil` for the caller's contacts.
    public var lookups: [UserLookup]?

    /// Describes the call.
    public init(_ lookups: [UserLookup]?, as caller: Caller) {
        self.caller = caller
        self.lookups = lookups
    }

    /// See `SingleAnswerCall`.
    public func answer(from administration: StoreAdministration) async throws -> [UserIdentity?] {
        let store = try administration.store
        let caller = administration.vouching(for: caller)
        guard let lookups else { return try await store.contacts(as: caller) }
        return try await store.lookUpUsers(lookups, as: caller)
    }
}

/// Requests the status of a user's account.
public struct AccountStatusCall: SingleAnswerCall {
    /// See `AdministrationCall`.
    public static let name = "users-status"
    /// See `AdministrationCall`.
    public typealias Answer = AccountStatus

    /// The user, and where.
    public var caller: Caller

    /// Describes the call.
    public init(of caller: Caller) {
        self.caller = caller
    }

    /// See `SingleAnswerCall`.
    public func answer(from administration: StoreAdministration) async throws -> AccountStatus {
        try await administration.store.accountStatus(as: administration.vouching(for: caller))
    }
}

/// Makes the notifications of subscriptions for everything in the log.
public struct MakeNotificationsCall: SingleAnswerCall {
    /// See `AdministrationCall`.
    public static let name = "notifications-make"
    /// See `AdministrationCall`.
    public var writes: Bool { true }

    /// Describes the call.
    public init() {}

    /// See `SingleAnswerCall`; answers when they are made.
    public func answer(from administration: StoreAdministration) async throws -> Nothing {
        try await administration.store.waitUntilNotified()
        return Nothing()
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TidemarkModel

// MARK: Permissions

extension CKContainer {
    /// The permissions that a user may give the app.
    public struct ApplicationPermissions: OptionSet, Sendable {
        /// The bits.
        public let rawValue: UInt

        /// Wraps bits.
        public init(rawValue: UInt) {
            self.rawValue = rawValue
        }

        /// To be found by others.
        public static let userDiscoverability = ApplicationPermissions(rawValue: 1)
    }

    /// The user's decision about a permission.
    public enum ApplicationPermissionStatus: Int, Sendable {
        /// The user has not been asked.
        case initialState = 0
        /// It could not be found out.
        case couldNotComplete = 1
        /// The user has not.
        case denied = 2
        /// The user has.
        case granted = 3
    }

    /// A callback with the user's decision about a permission.
    public typealias ApplicationPermissionBlock =
        @Sendable (ApplicationPermissionStatus, (any Error)?) -> Void

    /// Another spelling of the names.
    public enum Application {
        /// The permissions that a user may give the app.
        public typealias Permissions = CKContainer.ApplicationPermissions
        /// The user's decision about a permission.
        public typealias PermissionStatus = CKContainer.ApplicationPermissionStatus
        /// A callback with the user's decision about a permission.
        public typealias PermissionBlock = CKContainer.ApplicationPermissionBlock
    }

    /// Fetches the signed-in user's decision about a permission.
    ///
    /// It is in its initial state until the permission is requested. The operator determines if
    /// others can find the user (`Store.setUser`, `tidemark users`).
    @available(*, deprecated, message: "Apple's service finds nobody any more")
    @preconcurrency
    public func status(
        forApplicationPermission applicationPermission: ApplicationPermissions,
        completionHandler: @escaping ApplicationPermissionBlock
    ) {
        askingPermission(applicationPermission) { result in
            completionHandler(result.value ?? .couldNotComplete, result.error)
        }
    }

    /// Returns the signed-in user's decision about a permission.
    @available(*, deprecated, message: "Apple's service finds nobody any more")
    public func applicationPermissionStatus(
        for applicationPermission: ApplicationPermissions
    ) async throws -> ApplicationPermissionStatus {
        try await answer { askingPermission(applicationPermission, $0) }
    }

    /// Requests a permission from the signed-in user: always granted, because there is no dialog to
    /// ask with.
    @available(*, deprecated, message: "Apple's service finds nobody any more")
    @preconcurrency
    public func requestApplicationPermission(
        _ applicationPermission: ApplicationPermissions,
        completionHandler: @escaping ApplicationPermissionBlock
    ) {
        askingPermission(applicationPermission, grants: true) { result in
            completionHandler(result.value ?? .couldNotComplete, result.error)
        }
    }

    /// Requests a permission from the signed-in user: always granted, because there is no dialog to
    /// ask with.
    @available(*, deprecated, message: "Apple's service finds nobody any more")
    public func requestApplicationPermission(
        _ applicationPermission: ApplicationPermissions
    ) async throws -> ApplicationPermissionStatus {
        try await answer { askingPermission(applicationPermission, grants: true, $0) }
    }

    @discardableResult
    private func askingPermission(
        _ permission: ApplicationPermissions,
        grants: Bool = false,
        _ handler: @escaping ResultHandler<ApplicationPermissionStatus>
    ) -> CKOperation {
        let permissions = device.permissions
        return ask(
            { (service, caller) async throws(SyncError) in
                // Fails if nobody is signed in: a permission is a user's, even if it is always
                // granted.
                _ = try await service.currentUser(as: caller)
                if grants { permissions.grant(permission, to: caller) }
                return permissions.isGranted(permission, to: caller)
            },
            { result in handler(result.map { $0 ? .granted : .initialState }) }
        )
    }
}

// MARK: One user

extension CKContainer {
    /// Finds a user by an e-mail address.
    @available(*, deprecated, message: "Apple's service finds nobody any more")
    @preconcurrency
    public func discoverUserIdentity(
        withEmailAddress email: String,
        completionHandler: @escaping @Sendable (CKUserIdentity?, (any Error)?) -> Void
    ) {
        discovering(.init(emailAddress: email)) {
            completionHandler($0.value ?? nil, $0.error)
        }
    }

    /// Finds a user by a phone number.
    @available(*, deprecated, message: "Apple's service finds nobody any more")
    @preconcurrency
    public func discoverUserIdentity(
        withPhoneNumber phoneNumber: String,
        completionHandler: @escaping @Sendable (CKUserIdentity?, (any Error)?) -> Void
    ) {
        discovering(.init(phoneNumber: phoneNumber)) {
            completionHandler($0.value ?? nil, $0.error)
        }
    }

    /// Finds a user by the name of their record.
    @available(*, deprecated, message: "Apple's service finds nobody any more")
    @preconcurrency
    public func discoverUserIdentity(
        withUserRecordID userRecordID: CKRecord.ID,
        completionHandler: @escaping @Sendable (CKUserIdentity?, (any Error)?) -> Void
    ) {
        discovering(.init(userRecordID: userRecordID)) {
            completionHandler($0.value ?? nil, $0.error)
        }
    }

    /// Returns the user with an e-mail address; `nil` if none was found.
    @available(*, deprecated, message: "Apple's service finds nobody any more")
    public func userIdentity(forEmailAddress email: String) async throws -> CKUserIdentity? {
        try await answer { discovering(.init(emailAddress: email), $0) }
    }

    /// Returns the user with a phone number; `nil` if none was found.
    @available(*, deprecated, message: "Apple's service finds nobody any more")
    public func userIdentity(forPhoneNumber phoneNumber: String) async throws -> CKUserIdentity? {
        try await answer { discovering(.init(phoneNumber: phoneNumber), $0) }
    }

    /// Returns the user of a user record; `nil` if none was found.
    @available(*, deprecated, message: "Apple's service finds nobody any more")
    public func userIdentity(
        forUserRecordID userRecordID: CKRecord.ID
    ) async throws -> CKUserIdentity? {
        try await answer { discovering(.init(userRecordID: userRecordID), $0) }
    }

    @discardableResult
    private func discovering(
        _ lookup: CKUserIdentity.LookupInfo,
        _ handler: @escaping ResultHandler<CKUserIdentity?>
    ) -> CKOperation {
        let one: ResultHandler<[Int: CKUserIdentity]> = { result in
            handler(result.map { $0[0] })
        }
        return discovering([0], { _ in lookup }, one)
    }
}

// MARK: Several users

extension CKContainer {
    /// Finds users by e-mail addresses.
    @available(*, deprecated, message: "Apple's service finds nobody any more")
    @preconcurrency
    public func discoverUserIdentities(
        forEmailAddresses emails: [String],
        completionHandler: @escaping @Sendable (Result<[String: CKUserIdentity], any Error>) -> Void
    ) {
        discovering(emails, { .init(emailAddress: $0) }, completionHandler)
    }

    /// Finds users by phone numbers.
    @available(*, deprecated, message: "Apple's service finds nobody any more")
    @preconcurrency
    public func discoverUserIdentities(
        forPhoneNumbers phoneNumbers: [String],
        completionHandler: @escaping @Sendable (Result<[String: CKUserIdentity], any Error>) -> Void
    ) {
        discovering(phoneNumbers, { .init(phoneNumber: $0) }, completionHandler)
    }

    /// Finds users by the names of their records.
    @available(*, deprecated, message: "Apple's service finds nobody any more")
    @preconcurrency
    public func discoverUserIdentities(
        forUserRecordIDs userRecordIDs: [CKRecord.ID],
        completionHandler:
            @escaping @Sendable (Result<[CKRecord.ID: CKUserIdentity], any Error>) -> Void
    ) {
        discovering(userRecordIDs, { .init(userRecordID: $0) }, completionHandler)
    }

    /// Returns the users that were found by e-mail addresses.
    @available(*, deprecated, message: "Apple's service finds nobody any more")
    public func userIdentities(
        forEmailAddresses emails: [String]
    ) async throws -> [String: CKUserIdentity] {
        try await answer { discovering(emails, { .init(emailAddress: $0) }, $0) }
    }

    /// Returns the users that were found by phone numbers.
    @available(*, deprecated, message: "Apple's service finds nobody any more")
    public func userIdentities(
        forPhoneNumbers phoneNumbers: [String]
    ) async throws -> [String: CKUserIdentity] {
        try await answer { discovering(phoneNumbers, { .init(phoneNumber: $0) }, $0) }
    }

    /// Returns the users that were found by the names of their records.
    @available(*, deprecated, message: "Apple's service finds nobody any more")
    public func userIdentities(
        forUserRecordIDs userRecordIDs: [CKRecord.ID]
    ) async throws -> [CKRecord.ID: CKUserIdentity] {
        try await answer { discovering(userRecordIDs, { .init(userRecordID: $0) }, $0) }
    }

    @discardableResult
    private func discovering<Key: Hashable & Sendable>(
        _ keys: [Key],
        _ lookup: (Key) -> CKUserIdentity.LookupInfo,
        _ handler: @escaping ResultHandler<[Key: CKUserIdentity]>
    ) -> CKOperation {
        let models = keys.map { lookup($0).model }
        return ask(
            { (service, caller) async throws(SyncError) in
                try await service.lookUpUsers(models, as: caller)
            },
            { (result: Result<[UserIdentity?], any Error>) in
                handler(
                    result.map { identities in
                        var found: [Key: CKUserIdentity] = [:]
                        for (key, identity) in zip(keys, identities) {
                            found[key] = identity.map { CKUserIdentity($0) }
                        }
                        return found
                    }
                )
            }
        )
    }

    /// Finds the discoverable contacts of the signed-in user.
    @available(*, deprecated, message: "Apple's service finds nobody any more")
    @preconcurrency
    public func discoverAllIdentities(
        completionHandler: @escaping @Sendable ([CKUserIdentity]?, (any Error)?) -> Void
    ) {
        discoveringContacts { completionHandler($0.value, $0.error) }
    }

    /// Returns the discoverable contacts of the signed-in user.
    @available(*, deprecated, message: "Apple's service finds nobody any more")
    public func allUserIdentitiesFromContacts() async throws -> [CKUserIdentity] {
        try await answer { discoveringContacts($0) }
    }

    @discardableResult
    private func discoveringContacts(
        _ handler: @escaping ResultHandler<[CKUserIdentity]>
    ) -> CKOperation {
        ask(
            { (service, caller) async throws(SyncError) in
                try await service.contacts(as: caller)
            },
            { result in
                handler(result.map { identities in identities.map { CKUserIdentity($0) } })
            }
        )
    }
}

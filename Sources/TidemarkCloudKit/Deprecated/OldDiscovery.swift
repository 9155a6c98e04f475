// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TidemarkModel

// The discovery of users before `CKUserIdentity`.

extension CKContainer {
    /// Finds the discoverable contacts of the signed-in user.
    @available(*, deprecated, renamed: "discoverAllIdentities(completionHandler:)")
    @preconcurrency
    public func discoverAllContactUserInfos(
        completionHandler: @escaping @Sendable ([CKDiscoveredUserInfo]?, (any Error)?) -> Void
    ) {
        discoverAllIdentities(completionHandler: completionHandler)
    }

    /// Finds a user by an e-mail address.
    @available(
        *,
        deprecated,
        renamed: "discoverUserIdentity(withEmailAddress:completionHandler:)"
    )
    @preconcurrency
    public func discoverUserInfo(
        withEmailAddress email: String,
        completionHandler: @escaping @Sendable (CKDiscoveredUserInfo?, (any Error)?) -> Void
    ) {
        discoverUserIdentity(withEmailAddress: email, completionHandler: completionHandler)
    }

    /// Finds a user by the name of their record.
    @available(
        *,
        deprecated,
        renamed: "discoverUserIdentity(withUserRecordID:completionHandler:)"
    )
    @preconcurrency
    public func discoverUserInfo(
        withUserRecordID userRecordID: CKRecord.ID,
        completionHandler: @escaping @Sendable (CKDiscoveredUserInfo?, (any Error)?) -> Void
    ) {
        discoverUserIdentity(withUserRecordID: userRecordID, completionHandler: completionHandler)
    }
}

/// Finds the discoverable contacts of the signed-in user.
///
/// Unchecked: see ``CKOperation``.
@available(*, deprecated, renamed: "CKDiscoverAllUserIdentitiesOperation")
open class CKDiscoverAllContactsOperation: CKOperation, @unchecked Sendable {
    /// Finds all of them.
    public override init() {}

    /// Called at the end, with the users that were found.
    open var discoverAllContactsCompletionBlock: (([CKDiscoveredUserInfo]?, (any Error)?) -> Void)?

    private var found: [CKUserIdentity]?

    override func perform(_ session: Session) async throws(CKError) {
        let models = try await session.call { (service, caller) async throws(SyncError) in
            try await service.contacts(as: caller)
        }
        found = models.map { CKUserIdentity($0) }
    }

    override func complete(_ error: (any Error)?) {
        discoverAllContactsCompletionBlock?(error == nil ? found : nil, error)
    }
}

/// Finds users by their addresses and the names of their records.
///
/// Unchecked: see ``CKOperation``.
@available(*, deprecated, renamed: "CKDiscoverUserIdentitiesOperation")
open class CKDiscoverUserInfosOperation: CKOperation, @unchecked Sendable {
    /// Creates an operation without work.
    public override init() {}

    /// Finds users by e-mail addresses and names of their records.
    public convenience init(emailAddresses: [String]?, userRecordIDs: [CKRecord.ID]?) {
        self.init()
        self.emailAddresses = emailAddresses
        self.userRecordIDs = userRecordIDs
    }

    /// The e-mail addresses.
    open var emailAddresses: [String]?
    /// The users' records.
    open var userRecordIDs: [CKRecord.ID]?

    /// Called at the end, with the users that were found.
    open var discoverUserInfosCompletionBlock:
        (
            (
                [String: CKDiscoveredUserInfo]?, [CKRecord.ID: CKDiscoveredUserInfo]?,
                (any Error)?
            ) -> Void
        )?

    private var found: (byEmail: [String: CKUserIdentity], byID: [CKRecord.ID: CKUserIdentity])?

    override func perform(_ session: Session) async throws(CKError) {
        let emails = emailAddresses ?? []
        let ids = userRecordIDs ?? []
        let lookups =
            emails.map { CKUserIdentity.LookupInfo(emailAddress: $0) }
            + ids.map { CKUserIdentity.LookupInfo(userRecordID: $0) }
        let models = try await session.lookUp(lookups)
        var found: (byEmail: [String: CKUserIdentity], byID: [CKRecord.ID: CKUserIdentity]) =
            ([:], [:])
        for (email, model) in zip(emails, models) {
            found.byEmail[email] = model.map { CKUserIdentity($0) }
        }
        for (id, model) in zip(ids, models.dropFirst(emails.count)) {
            found.byID[id] = model.map { CKUserIdentity($0) }
        }
        self.found = found
    }

    override func complete(_ error: (any Error)?) {
        let found = error == nil ? found : nil
        discoverUserInfosCompletionBlock?(found?.byEmail, found?.byID, error)
    }
}

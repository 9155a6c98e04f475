// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TidemarkModel

/// Finds discoverable users.
///
/// Unchecked: see ``CKOperation``.
@available(*, deprecated, message: "Apple's service finds nobody any more")
open class CKDiscoverUserIdentitiesOperation: CKOperation, @unchecked Sendable {
    /// Creates an operation without work.
    public override init() {}

    /// Finds users by addresses, numbers or names of their records.
    public convenience init(userIdentityLookupInfos: [CKUserIdentity.LookupInfo]) {
        self.init()
        self.userIdentityLookupInfos = userIdentityLookupInfos
    }

    /// The lookups of the users.
    open var userIdentityLookupInfos: [CKUserIdentity.LookupInfo] = []

    /// Called for each user that was found.
    open var userIdentityDiscoveredBlock: ((CKUserIdentity, CKUserIdentity.LookupInfo) -> Void)?
    /// Called at the end.
    open var discoverUserIdentitiesResultBlock: ((Result<Void, any Error>) -> Void)?
    /// Called at the end.
    open var discoverUserIdentitiesCompletionBlock: (((any Error)?) -> Void)?

    override func perform(_ session: Session) async throws(CKError) {
        let lookups = userIdentityLookupInfos
        let identities = try await session.lookUp(lookups)
        for (lookup, model) in zip(lookups, identities) {
            // A lookup that finds nobody is no error. The block is not called for it.
            guard let model else { continue }
            let identity = CKUserIdentity(model)
            tell { self.userIdentityDiscoveredBlock?(identity, lookup) }
        }
    }

    override func complete(_ error: (any Error)?) {
        discoverUserIdentitiesResultBlock?(Result(failing: error))
        discoverUserIdentitiesCompletionBlock?(error)
    }
}

/// Finds the discoverable contacts of the signed-in user.
///
/// Unchecked: see ``CKOperation``.
@available(*, deprecated, message: "Apple's service finds nobody any more")
open class CKDiscoverAllUserIdentitiesOperation: CKOperation, @unchecked Sendable {
    /// Finds all of them.
    public override init() {}

    /// Called for each user that was found.
    open var userIdentityDiscoveredBlock: ((CKUserIdentity) -> Void)?
    /// Called at the end.
    open var discoverAllUserIdentitiesResultBlock: ((Result<Void, any Error>) -> Void)?
    /// Called at the end.
    open var discoverAllUserIdentitiesCompletionBlock: (((any Error)?) -> Void)?

    override func perform(_ session: Session) async throws(CKError) {
        let models = try await session.call { (service, caller) async throws(SyncError) in
            try await service.contacts(as: caller)
        }
        for model in models {
            let identity = CKUserIdentity(model)
            tell { self.userIdentityDiscoveredBlock?(identity) }
        }
    }

    override func complete(_ error: (any Error)?) {
        discoverAllUserIdentitiesResultBlock?(Result(failing: error))
        discoverAllUserIdentitiesCompletionBlock?(error)
    }
}

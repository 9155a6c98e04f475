// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TidemarkModel

/// Fetches participants for users to invite to a share.
///
/// Unchecked: see ``CKOperation``.
open class CKFetchShareParticipantsOperation: CKOperation, @unchecked Sendable {
    /// Creates an operation without work.
    public override init() {}

    /// Creates an operation that fetches participants for users.
    public convenience init(userIdentityLookupInfos: [CKUserIdentity.LookupInfo]) {
        self.init()
        self.userIdentityLookupInfos = userIdentityLookupInfos
    }

    /// The lookups of the users.
    open var userIdentityLookupInfos: [CKUserIdentity.LookupInfo]?

    /// Called for each user.
    open var perShareParticipantResultBlock:
        ((CKUserIdentity.LookupInfo, Result<CKShare.Participant, any Error>) -> Void)?
    /// Called at the end, with the error of the whole request; errors of items are in their block.
    open var fetchShareParticipantsResultBlock: ((Result<Void, any Error>) -> Void)?
    /// Called for each user that was found.
    open var shareParticipantFetchedBlock: ((CKShare.Participant) -> Void)?
    /// Called at the end.
    open var fetchShareParticipantsCompletionBlock: (((any Error)?) -> Void)?

    override func perform(_ session: Session) async throws(CKError) {
        let lookups = userIdentityLookupInfos ?? []
        let identities = try await session.lookUp(lookups)
        var errors: [AnyHashable: any Error] = [:]
        for (lookup, identity) in zip(lookups, identities) {
            let outcome: Result<CKShare.Participant, any Error>
            if let identity {
                outcome = .success(
                    CKShare.Participant(CKUserIdentity(identity, seenBy: session.caller.user))
                )
            } else if lookup.userRecordID == nil || lookup.userRecordID?.zoneID == .default {
                // A user who is not discoverable can be invited. So can a user without an account,
                // by an address or a number.
                let user = lookup.userRecordID
                let identity = CKUserIdentity(user, lookup: lookup, hasAccount: user != nil)
                outcome = .success(CKShare.Participant(identity))
            } else {
                let error = CKError(.unknownItem, "No user was found for \(lookup.model.text).")
                errors[lookup] = error
                outcome = .failure(error)
            }
            tell {
                self.perShareParticipantResultBlock?(lookup, outcome)
                if let participant = outcome.value {
                    self.shareParticipantFetchedBlock?(participant)
                }
            }
        }
        if let error = CKError.ofItems(errors) { throw error }
    }

    override func complete(_ error: (any Error)?) {
        fetchShareParticipantsResultBlock?(Result(ofWhole: error))
        fetchShareParticipantsCompletionBlock?(error)
    }
}

extension Session {
    /// Returns the identities of users; `nil` for a user that was not found.
    func lookUp(
        _ lookups: [CKUserIdentity.LookupInfo]
    ) async throws(CKError) -> [UserIdentity?] {
        let models = lookups.map(\.model)
        return try await call { (service, caller) async throws(SyncError) in
            try await service.lookUpUsers(models, as: caller)
        }
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import TidemarkModel

extension Store {
    /// Takes part in the share that a link leads to, and answers with the share's record as the
    /// caller's shared database shows it from now on.
    ///
    /// The link is the URL of a share or of a single invitation, or what that ends with. Accepting
    /// again changes nothing. Durable when it returns.
    ///
    /// Throws `unknownItem` for a link that leads nowhere, `permissionFailure` for somebody who is
    /// not invited, `participantMayNeedVerification` where somebody is invited by an address that
    /// belongs to no user, `tooManyParticipants` when an open share is full.
    public func acceptShare(_ link: String, as caller: Caller) async throws(SyncError) -> Record {
        let parts = try parts
        return try await parts.reader.answer(.shares, caller) { () throws(SyncError) in
            try await parts.writer().acceptShare(Share.token(in: link), as: caller)
        }
    }

    /// Returns the metadata of the share behind a link, for a user that may accept it or has
    /// accepted it.
    ///
    /// Throws as ``acceptShare(_:as:)``.
    public func shareMetadata(
        of link: String,
        withRootRecord: Bool = false,
        as caller: Caller
    ) async throws(SyncError) -> ShareMetadata {
        let parts = try parts
        return try await parts.reader.answer(.shares, caller) { () throws(SyncError) in
            try parts.reader.shareMetadata(
                of: Share.token(in: link),
                withRootRecord: withRootRecord,
                as: caller
            )
        }
    }

    /// Asks to take part in a share: the caller is on the share's list of requesters from then on.
    ///
    /// Asking again changes nothing, nor does asking by somebody who takes part. Throws
    /// `participantAlreadyInvited` for somebody who only has to accept, `permissionFailure` where
    /// the share takes no requests.
    public func requestShareAccess(_ link: String, as caller: Caller) async throws(SyncError) {
        let parts = try parts
        try await parts.reader.answer(.shares, caller) { () throws(SyncError) in
            try await parts.writer().requestShareAccess(Share.token(in: link), as: caller)
        }
    }

    /// The URL of a share.
    public func url(of share: Share) -> String { options.shareURLPrefix + share.token }

    /// The URL that makes whoever opens it first a certain participant; `nil` where there is none,
    /// or the caller was not to know it.
    public func url(of participant: ShareParticipant) -> String? {
        participant.linkToken.isEmpty ? nil : options.shareURLPrefix + participant.linkToken
    }
}

extension Share {
    /// Returns the token at the end of a link: after the last slash, before a title.
    static func token(in link: String) -> String {
        let path = link.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)[0]
        return String(path.split(separator: "/").last ?? "")
    }
}

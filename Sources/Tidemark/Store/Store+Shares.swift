// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import TidemarkModel

extension Store {
    /// Accepts the share behind a link, and returns the share's record in the caller's shared
    /// database.
    ///
    /// The link is the URL of a share or of a single invitation, or the end of that URL. Accepting
    /// again changes nothing. Durable when it returns.
    ///
    /// Throws `unknownItem` for an unknown link, `permissionFailure` for a user that is not
    /// invited, `participantMayNeedVerification` if the invitation is for an address that belongs
    /// to no user, `tooManyParticipants` if an open share is full.
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

    /// Requests access to a share: adds the caller to the share's list of requesters.
    ///
    /// Requesting again changes nothing, nor does a request by a participant. Throws
    /// `participantAlreadyInvited` for a user that only has to accept, `permissionFailure` if the
    /// share takes no requests, `tooManyParticipants` if it has as many as it may have participants.
    public func requestShareAccess(_ link: String, as caller: Caller) async throws(SyncError) {
        let parts = try parts
        try await parts.reader.answer(.shares, caller) { () throws(SyncError) in
            try await parts.writer().requestShareAccess(Share.token(in: link), as: caller)
        }
    }

    /// The URL of a share.
    public func url(of share: Share) -> String { options.shareURLPrefix + share.token }

    /// Returns the URL that makes the first user that opens it a certain participant; `nil` if
    /// there is none, or if it is hidden from the caller.
    public func url(of participant: ShareParticipant) -> String? {
        participant.linkToken.isEmpty ? nil : options.shareURLPrefix + participant.linkToken
    }
}

extension Share {
    /// Returns the token at the end of a link: after the last slash, before a title.
    static func token(in link: String) -> String {
        // A title may follow a number sign, as in CloudKit's links.
        let path = link.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)[0]
        return String(path.split(separator: "/").last ?? "")
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import Foundation

// MARK: Accepting

extension CKContainer {
    /// Accepts a share; returns its record in the shared database.
    @discardableResult
    public func accept(_ metadata: CKShare.Metadata) async throws -> CKShare {
        try await answer { handler in
            accepting([metadata]) { handler($0.item(metadata)) }
        }
    }

    /// Accepts shares.
    @preconcurrency
    public func accept(
        _ metadatas: [CKShare.Metadata],
        completionHandler:
            @escaping @Sendable (
                Result<[CKShare.Metadata: Result<CKShare, any Error>], any Error>
            ) -> Void
    ) {
        accepting(metadatas, completionHandler)
    }

    /// Accepts shares, and returns the result for each.
    public func accept(
        _ metadatas: [CKShare.Metadata]
    ) async throws -> [CKShare.Metadata: Result<CKShare, any Error>] {
        try await answer { accepting(metadatas, $0) }
    }

    @discardableResult
    func accepting(
        _ metadatas: [CKShare.Metadata],
        _ handler: @escaping ResultHandler<[CKShare.Metadata: Result<CKShare, any Error>]>
    ) -> CKOperation {
        let operation = CKAcceptSharesOperation(shareMetadatas: metadatas)
        let items = Collected<[CKShare.Metadata: Result<CKShare, any Error>]>([:])
        operation.perShareResultBlock = { metadata, result in items.add { $0[metadata] = result } }
        operation.acceptSharesResultBlock = { handler($0.collecting(items)) }
        return begin(operation)
    }

    /// Adds an operation of a convenience call and answers with it.
    func begin(_ operation: CKOperation) -> CKOperation {
        add(operation)
        return operation
    }
}

// MARK: Links

extension CKContainer {
    /// Returns the metadata of the share that a link leads to.
    public func shareMetadata(for url: URL) async throws -> CKShare.Metadata {
        try await answer { handler in
            fetchingMetadatas([url]) { handler($0.item(url)) }
        }
    }

    /// Fetches the metadata of the shares that links lead to.
    @preconcurrency
    public func fetchShareMetadatas(
        for urls: [URL],
        completionHandler:
            @escaping @Sendable (
                Result<[URL: Result<CKShare.Metadata, any Error>], any Error>
            ) -> Void
    ) {
        fetchingMetadatas(urls, completionHandler)
    }

    /// Returns the metadata of the shares that links lead to, or the error of each link.
    public func shareMetadatas(
        for urls: [URL]
    ) async throws -> [URL: Result<CKShare.Metadata, any Error>] {
        try await answer { fetchingMetadatas(urls, $0) }
    }

    @discardableResult
    func fetchingMetadatas(
        _ urls: [URL],
        _ handler: @escaping ResultHandler<[URL: Result<CKShare.Metadata, any Error>]>
    ) -> CKOperation {
        let operation = CKFetchShareMetadataOperation(shareURLs: urls)
        let items = Collected<[URL: Result<CKShare.Metadata, any Error>]>([:])
        operation.perShareMetadataResultBlock = { url, result in items.add { $0[url] = result } }
        operation.fetchShareMetadataResultBlock = { handler($0.collecting(items)) }
        return begin(operation)
    }
}

// MARK: Access

extension CKContainer {
    /// Requests access to the shares that links lead to, and returns the result for each.
    public func requestShareAccess(
        for urls: [URL]
    ) async throws -> [URL: Result<Void, any Error>] {
        try await answer { handler in
            let operation = CKShareRequestAccessOperation(shareURLs: urls)
            let items = Collected<[URL: Result<Void, any Error>]>([:])
            operation.perShareAccessRequestResultBlock = { url, result in
                items.add { $0[url] = result }
            }
            operation.shareAccessRequestResultBlock = { handler($0.collecting(items)) }
            return begin(operation)
        }
    }
}

// MARK: Participants

extension CKContainer {
    /// Returns a participant for the user with an e-mail address.
    public func shareParticipant(
        forEmailAddress emailAddress: String
    ) async throws -> CKShare.Participant {
        try await answer { fetchingParticipant(.init(emailAddress: emailAddress), $0) }
    }

    /// Returns a participant for the user with a phone number.
    public func shareParticipant(
        forPhoneNumber phoneNumber: String
    ) async throws -> CKShare.Participant {
        try await answer { fetchingParticipant(.init(phoneNumber: phoneNumber), $0) }
    }

    /// Returns a participant for a user.
    public func shareParticipant(
        forUserRecordID userRecordID: CKRecord.ID
    ) async throws -> CKShare.Participant {
        try await answer { fetchingParticipant(.init(userRecordID: userRecordID), $0) }
    }

    /// Fetches participants for the users with e-mail addresses.
    @preconcurrency
    public func fetchShareParticipants(
        forEmailAddresses emails: [String],
        completionHandler:
            @escaping @Sendable (
                Result<[String: Result<CKShare.Participant, any Error>], any Error>
            ) -> Void
    ) {
        fetchingParticipants(emails, { .init(emailAddress: $0) }, completionHandler)
    }

    /// Fetches participants for the users with phone numbers.
    @preconcurrency
    public func fetchShareParticipants(
        forPhoneNumbers phoneNumbers: [String],
        completionHandler:
            @escaping @Sendable (
                Result<[String: Result<CKShare.Participant, any Error>], any Error>
            ) -> Void
    ) {
        fetchingParticipants(phoneNumbers, { .init(phoneNumber: $0) }, completionHandler)
    }

    /// Fetches participants for users.
    @preconcurrency
    public func fetchShareParticipants(
        forUserRecordIDs userRecordIDs: [CKRecord.ID],
        completionHandler:
            @escaping @Sendable (
                Result<[CKRecord.ID: Result<CKShare.Participant, any Error>], any Error>
            ) -> Void
    ) {
        fetchingParticipants(userRecordIDs, { .init(userRecordID: $0) }, completionHandler)
    }

    /// Returns participants for the users with e-mail addresses.
    public func shareParticipants(
        forEmailAddresses emails: [String]
    ) async throws -> [String: Result<CKShare.Participant, any Error>] {
        try await answer { fetchingParticipants(emails, { .init(emailAddress: $0) }, $0) }
    }

    /// Returns participants for the users with phone numbers.
    public func shareParticipants(
        forPhoneNumbers phoneNumbers: [String]
    ) async throws -> [String: Result<CKShare.Participant, any Error>] {
        try await answer { fetchingParticipants(phoneNumbers, { .init(phoneNumber: $0) }, $0) }
    }

    /// Returns participants for users of any kind of lookup.
    public func shareParticipants(
        for lookupInfos: [CKUserIdentity.LookupInfo]
    ) async throws -> [CKUserIdentity.LookupInfo: Result<CKShare.Participant, any Error>] {
        try await answer { fetchingParticipants(lookupInfos, { $0 }, $0) }
    }

    /// Participants for users.
    public func shareParticipants(
        forUserRecordIDs userRecordIDs: [CKRecord.ID]
    ) async throws -> [CKRecord.ID: Result<CKShare.Participant, any Error>] {
        try await answer { fetchingParticipants(userRecordIDs, { .init(userRecordID: $0) }, $0) }
    }

    @discardableResult
    func fetchingParticipant(
        _ lookup: CKUserIdentity.LookupInfo,
        _ handler: @escaping ResultHandler<CKShare.Participant>
    ) -> CKOperation {
        typealias One = [Int: Result<CKShare.Participant, any Error>]
        let one: ResultHandler<One> = { handler($0.item(0)) }
        return fetchingParticipants([0], { _ in lookup }, one)
    }

    @discardableResult
    func fetchingParticipants<Key: Hashable & Sendable>(
        _ keys: [Key],
        _ lookup: (Key) -> CKUserIdentity.LookupInfo,
        _ handler: @escaping ResultHandler<[Key: Result<CKShare.Participant, any Error>]>
    ) -> CKOperation {
        let operation = CKFetchShareParticipantsOperation(
            userIdentityLookupInfos: keys.map(lookup)
        )
        // They arrive in the order of the lookups.
        let items = Collected<[Result<CKShare.Participant, any Error>]>([])
        operation.perShareParticipantResultBlock = { _, result in
            items.add { $0.append(result) }
        }
        operation.fetchShareParticipantsResultBlock = { result in
            handler(
                result.collecting(items).map { results in
                    // A list may contain a key twice. Both results are of the same lookup.
                    Dictionary(zip(keys, results), uniquingKeysWith: { first, _ in first })
                }
            )
        }
        return begin(operation)
    }
}

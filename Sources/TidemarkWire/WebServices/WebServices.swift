// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import TidemarkModel

/// A translator of CloudKit Web Services requests to calls of a service.
///
/// It reads and writes the JSON. A server does the rest: it identifies the caller and sends the
/// answer. Documented in `Docs/web-services.md`.
public struct WebServices: Sendable {
    let service: any DatabaseService
    let host: any WebHost
    /// The maximum number of operations, records or tokens in one request, and of records in one
    /// answer.
    public var itemLimit = 200
    /// The bytes of an answer from which on each further zone has a page of one record, a record
    /// that is looked up fails, and a saved record has only the fields of its operation.
    static let answerByteLimit = 32 << 20

    /// The bytes of an answer after which other requests of the thread have their turn.
    static let byteCountBetweenYields = 256 << 10

    /// Answers for a service.
    public init(_ service: any DatabaseService, host: any WebHost) {
        self.service = service
        self.host = host
    }

    /// Returns the body of the answer to a request; its status is 200.
    ///
    /// Throws why the request failed as a whole.
    public func answer(_ request: WebRequest) async throws(WebError) -> [UInt8] {
        guard let endpoint = WebEndpoint(path: request.endpoint) else {
            throw .noHandler(request.endpoint)
        }
        guard endpoint.scopes.contains(request.caller.database.scope) else {
            throw .badRequest(
                "endpoint not applicable in the database type '\(request.caller.database.scope.name)db'"
            )
        }
        // Here only that there is a user. The service checks what the user may do.
        if endpoint.needsUser || request.caller.database.scope != .public,
            request.caller.user == nil
        {
            throw .authenticationRequired
        }
        do throws(WebError) {
            return try await perform(request, at: endpoint)
        } catch {
            throw error.inForm(of: request)
        }
    }

    private func perform(
        _ request: WebRequest,
        at endpoint: WebEndpoint
    ) async throws(WebError) -> [UInt8] {
        switch endpoint.path {
        case "records/query": return try await queryRecords(request)
        case "records/modify": return try await modifyRecords(request)
        case "records/lookup": return try await lookUpRecords(request)
        case "records/changes": return try await recordChanges(request)
        case "records/resolve": return try await resolveShares(request, accepting: false)
        case "records/accept": return try await resolveShares(request, accepting: true)
        case "zones/list": return try await listZones(request)
        case "zones/lookup": return try await lookUpZones(request)
        case "zones/modify": return try await modifyZones(request)
        case "zones/changes": return try await databaseChanges(request)
        case "changes/database": return try await databaseChanges(request)
        case "changes/zone": return try await zoneChanges(request)
        case "subscriptions/list": return try await listSubscriptions(request)
        case "subscriptions/lookup": return try await lookUpSubscriptions(request)
        case "subscriptions/modify": return try await modifySubscriptions(request)
        case "users/current": return try await currentUser(request)
        case "users/caller": return try await callingUser(request)
        case "users/discover": return try await discoverUsers(request)
        case "users/lookup/email": return try await lookUpUsers(request, "emailAddress")
        case "users/lookup/id": return try await lookUpUsers(request, "userRecordName")
        case "users/lookup/contacts": return try await contacts(request)
        case "assets/upload": return try await assetTokens(request)
        case "assets/rereference": return try await rereferencedAssets(request)
        default: throw .noHandler(endpoint.path)
        }
    }

    /// Calls the service, and translates its error.
    func ask<Answer>(
        _ question: (any DatabaseService) async throws(SyncError) -> Answer
    ) async throws(WebError) -> Answer {
        do throws(SyncError) {
            return try await question(service)
        } catch {
            throw WebError(error)
        }
    }

    /// Returns a token after the current content of a zone, if the request asks for it.
    ///
    /// Call it before the records are read, so that no change is missed.
    func syncToken(_ request: WebRequest, of zone: ZoneID?) -> String? {
        guard request.wantsSyncToken, let zone else { return nil }
        return host.currentToken(of: zone, as: request.caller)?.description
    }

    /// Returns a token after the current content of the database's zones, if the request asks for
    /// it.
    func databaseToken(_ request: WebRequest) async throws(WebError) -> String? {
        guard request.wantsSyncToken else { return nil }
        var token: ChangeToken?
        while true {
            let question = DatabaseChangesRequest(since: token)
            let page = try await ask { (it) throws(SyncError) in
                try await it.databaseChanges(question, as: request.caller)
            }
            token = page.token
            // The pages are read only for the last token; there is no call that returns it alone.
            if !page.moreComing { return page.token.description }
            await Task.yield()
        }
    }

    /// Returns a list of items that the body must have; an empty one is allowed.
    func checked<Item>(_ items: [Item]?, _ name: String) throws(WebError) -> [Item] {
        // A misspelled name would otherwise do nothing, without a word.
        guard let items else { throw .badRequest("The member \"\(name)\" is missing.") }
        try checkCount(items.count, of: name)
        return items
    }

    /// Refuses a request with more items than allowed.
    func checkCount(_ count: Int, of what: String) throws(WebError) {
        guard count <= itemLimit else {
            throw .badRequest(
                "The request has \(count) \(what); at most \(itemLimit) are allowed in one request."
            )
        }
    }

    /// Returns the maximum number of records in a page of an answer.
    func pageLimit(_ wanted: Int?) -> Int { min(wanted ?? itemLimit, itemLimit) }
}

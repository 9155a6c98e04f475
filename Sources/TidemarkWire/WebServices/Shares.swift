// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkModel

/// `records/resolve` and `records/accept`: the shares that links lead to.
extension WebServices {
    func resolveShares(
        _ request: WebRequest,
        accepting: Bool
    ) async throws(WebError) -> [UInt8] {
        var given: [ShareLink]?
        try request.read { (it, name) throws(JSONError) in
            guard name == "shortGUIDs" else { return false }
            given = try it.values { (it) throws(JSONError) in try it.shareLink() }
            return true
        }
        let links = try checked(given, "shortGUIDs")
        var found: [(ShareLink, ShareMetadata)] = []
        for (index, link) in links.enumerated() {
            // A link determines its database, whatever database the path names.
            var caller = request.caller
            caller.database = DatabaseID(
                container: caller.database.container,
                environment: caller.database.environment,
                scope: .shared,
                owner: caller.user ?? .current
            )
            // An id of its own for each link, because the service compares what is asked under an id.
            if accepting, index > 0 {
                caller.requestID = caller.requestID.map { "\($0)#\(index)" }
            }
            let asking = caller
            // An error of one link fails the request. Links before it stay accepted.
            let metadata = try await ask { (it) throws(SyncError) in
                // In this order, so that the metadata says that the share was accepted.
                if accepting { _ = try await it.acceptShare(link.value, as: asking) }
                return try await it.shareMetadata(
                    of: link.value,
                    withRootRecord: link.fetchesRoot,
                    as: asking
                )
            }
            found.append((link, metadata))
        }
        var writer = WebWriter(self, request)
        // A caller who resolves a link has it already.
        for (_, metadata) in found {
            guard let share = metadata.share.share else { continue }
            writer.links[metadata.share.recordID] = share.token
        }
        writer.literal("{\"results\":")
        writer.list(found) { writer, item in
            let (link, metadata) = item
            writer.result(link, metadata)
            writer.member("syncToken", syncToken(request, behind: metadata))
            writer.literal("}")
        }
        return writer.finished()
    }

    /// Returns a token after everything in a share's zone that the caller sees.
    ///
    /// Only if the request asks for it and the caller takes part.
    private func syncToken(_ request: WebRequest, behind metadata: ShareMetadata) -> String? {
        guard request.wantsSyncToken else { return nil }
        var caller = request.caller
        caller.database = DatabaseID(
            container: caller.database.container,
            environment: caller.database.environment,
            scope: metadata.role == .owner ? .private : .shared,
            owner: caller.user ?? .current
        )
        return host.currentToken(of: metadata.share.zone, as: caller)?.description
    }

    /// Writes records; if some are roots of shares, fetches their links and writes everything
    /// again.
    ///
    /// Few answers have shared roots, and a search for them in advance would cost every answer a
    /// pass over its records.
    func write(
        into writer: inout WebWriter,
        _ request: WebRequest,
        _ content: (inout WebWriter) -> Void
    ) async {
        let start = writer.byteCount
        content(&writer)
        guard !writer.unknownLinks.isEmpty else { return }
        let shares = Array(writer.unknownLinks)
        let found = try? await service.fetchRecords(
            FetchRecordsRequest(shares),
            as: request.caller
        )
        // A link that cannot be fetched is left out of the answer, which is otherwise complete.
        for (id, result) in zip(shares, found ?? []) {
            if case .success(let record) = result { writer.links[id] = record.share?.token }
        }
        // Forgets the unknown links too. The second pass may miss the same ones, and is not
        // repeated.
        writer.cut(to: start)
        content(&writer)
    }
}

struct ShareLink {
    var value: String
    var fetchesRoot = true
    var rootDesiredKeys: [String]?
}

extension JSONReader {
    fileprivate mutating func shareLink() throws(JSONError) -> ShareLink {
        let start = offset
        var link = ShareLink(value: "")
        try members { (it, name) throws(JSONError) in
            switch name {
            case "value": link.value = try it.string()
            case "shouldFetchRootRecord": link.fetchesRoot = try it.truth()
            case "rootRecordDesiredKeys": link.rootDesiredKeys = try it.strings()
            default: return false
            }
            return true
        }
        guard !link.value.isEmpty else {
            throw JSONError("The member \"value\" is missing.", at: start)
        }
        return link
    }
}

extension WebWriter {
    /// Writes the target of a link, without the end of the object.
    fileprivate mutating func result(_ link: ShareLink, _ metadata: ShareMetadata) {
        literal("{\"shortGUID\":{\"value\":")
        string(link.value)
        member("shouldFetchRootRecord", link.fetchesRoot)
        literal("}")
        member("containerIdentifier", metadata.container.identifier)
        member("environment", caller.database.environment.rawValue)
        member("databaseScope", metadata.role == .owner ? "PRIVATE" : "SHARED")
        literal(",\"zoneID\":")
        zoneID(metadata.share.zone)
        literal(",\"ownerIdentity\":{\"userRecordName\":")
        string(name(of: metadata.owner))
        literal("},\"share\":")
        record(metadata.share)
        if let root = metadata.root { member("rootRecordName", root.recordName) }
        if let root = metadata.rootRecord, !isFull {
            literal(",\"rootRecord\":")
            record(root.narrowed(to: link.rootDesiredKeys.map { FieldSelection($0) }))
        }
        literal(",\"ancestorRecords\":[]")
        member("participantStatus", metadata.acceptance.webName)
        member("participantPermission", metadata.permission.webName)
        member("participantType", metadata.role.webName)
        literal(",\"potentialMatchList\":[]")
    }
}

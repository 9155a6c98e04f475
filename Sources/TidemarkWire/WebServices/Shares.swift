// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkModel

/// `records/resolve` and `records/accept`: what links to shares lead to.
extension WebServices {
    func resolveShares(
        _ request: WebRequest,
        accepting: Bool
    ) async throws(WebError) -> [UInt8] {
        var links: [ShareLink] = []
        try request.read { (it, name) throws(JSONError) in
            guard name == "shortGUIDs" else { return false }
            links = try it.values { (it) throws(JSONError) in try it.shareLink() }
            return true
        }
        try checkCount(links.count, of: "shortGUIDs")
        var found: [(ShareLink, ShareMetadata)] = []
        for link in links {
            // Whatever database the path names, a link says where it leads.
            var caller = request.caller
            caller.database = DatabaseID(
                container: caller.database.container,
                environment: caller.database.environment,
                scope: .shared,
                owner: caller.user ?? .current
            )
            let asking = caller
            let metadata = try await ask { (it) throws(SyncError) in
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
        writer.literal("{\"results\":")
        writer.list(found) { $0.result($1.0, $1.1) }
        return writer.finished()
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
    fileprivate mutating func result(_ link: ShareLink, _ metadata: ShareMetadata) {
        literal("{\"shortGUID\":{\"value\":")
        string(link.value)
        literal(",\"shouldFetchRootRecord\":")
        literal(link.fetchesRoot ? "true}" : "false}")
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
        if let root = metadata.rootRecord {
            literal(",\"rootRecord\":")
            record(root.narrowed(to: link.rootDesiredKeys.map { FieldSelection($0) }))
        }
        literal(",\"ancestorRecords\":[]")
        member("participantStatus", metadata.acceptance.webName)
        member("participantPermission", metadata.permission.webName)
        member("participantType", metadata.role.webName)
        literal(",\"potentialMatchList\":[]}")
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkModel

/// `records/query`: records that fulfil filters.
extension WebServices {
    func queryRecords(_ request: WebRequest) async throws(WebError) -> [UInt8] {
        var query = WebQuery()
        var zone: ZoneID?
        var isZoneWide = false
        var marker: String?
        var limit: Int?
        var desiredKeys: [String]?
        var writer = WebWriter(self, request)
        try request.read { (it, name) throws(JSONError) in
            switch name {
            case "query": query = try it.webQuery()
            case "zoneID": zone = try it.zoneID()
            case "zoneWide": isZoneWide = try it.truth()
            case "continuationMarker": marker = try it.string()
            case "resultsLimit": limit = try it.count()
            case "desiredKeys": desiredKeys = try it.strings()
            case "numbersAsStrings": writer.numbersAsStrings = try it.truth()
            default: return false
            }
            return true
        }
        let cursor = try marker.map { (text) throws(WebError) in
            guard let cursor = QueryPageCursor(text) else {
                throw .badRequest("Invalid continuation format")
            }
            return cursor
        }
        let question = QueryRequest(
            try query.query,
            // Without both members, the query is about the default zone.
            in: zone ?? (isZoneWide ? nil : .default),
            after: cursor,
            limit: pageLimit(limit),
            desiredKeys: desiredKeys
        )
        // Before the query: a change during it is then found by the token.
        let token =
            question.zone == nil
            ? try await databaseToken(request) : syncToken(request, of: question.zone)
        let page = try await ask { (it) throws(SyncError) in
            try await it.query(question, as: request.caller)
        }
        writer.literal("{\"records\":")
        await write(into: &writer, request) { writer in
            writer.list(page.records) { $0.record($1) }
        }
        writer.member("continuationMarker", page.cursor?.description)
        writer.member("syncToken", token)
        return writer.finished()
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkModel

/// `changes/zone`, `changes/database` and their predecessors: the changes after a token.
extension WebServices {
    func databaseChanges(_ request: WebRequest) async throws(WebError) -> [UInt8] {
        var text: String?
        var limit: Int?
        // The answer of the older endpoint has its token under both names.
        let isOlder = request.endpoint == "zones/changes"
        try request.read { (it, name) throws(JSONError) in
            switch name {
            // Each endpoint accepts both names, and the first that is not `null` counts.
            case "syncToken", "metaSyncToken":
                guard text == nil else { return false }
                text = try it.string()
            case "resultsLimit": limit = try it.count()
            default: return false
            }
            return true
        }
        let question = DatabaseChangesRequest(
            since: try token(text),
            limit: pageLimit(limit)
        )
        var changes = try await ask { (it) throws(SyncError) in
            try await it.databaseChanges(question, as: request.caller)
        }
        // An empty token stands for the end of the feed: the answer has no zones, only a token.
        if text == "" {
            while changes.moreComing {
                // Other requests of this thread wait for one page, and not for all.
                await Task.yield()
                let next = DatabaseChangesRequest(since: changes.token)
                changes = try await ask { (it) throws(SyncError) in
                    try await it.databaseChanges(next, as: request.caller)
                }
            }
            changes = DatabaseChanges(changes: [], token: changes.token, moreComing: false)
        }
        var writer = WebWriter(self, request)
        writer.literal("{\"zones\":")
        writer.list(changes.changes) { writer, change in
            switch change {
            case .changed(let zone):
                // A change names only the zone. The default zone is the only one without these
                // capabilities.
                let capabilities: Zone.Capabilities =
                    zone.isDefault ? [] : [.fetchChanges, .atomic]
                writer.zone(Zone(zoneID: zone, capabilities: capabilities))
            case .deleted(let zone, _):
                writer.literal("{\"zoneID\":")
                writer.zoneID(zone)
                writer.literal(",\"deleted\":true}")
            }
        }
        writer.member("syncToken", changes.token.description)
        if isOlder { writer.member("metaSyncToken", changes.token.description) }
        writer.member("moreComing", changes.moreComing)
        return writer.finished()
    }

    func zoneChanges(_ request: WebRequest) async throws(WebError) -> [UInt8] {
        var given: [ZoneQuestion]?
        var defaults = ZoneQuestion()
        try request.read { (it, name) throws(JSONError) in
            guard name == "zones" else { return try it.member(name, of: &defaults) }
            given = try it.values { (it) throws(JSONError) in try it.zoneQuestion() }
            return true
        }
        let zones = try checked(given, "zones")
        var writer = WebWriter(self, request)
        writer.literal("{\"zones\":[")
        var yieldedAt = 0
        for (index, own) in zones.enumerated() {
            // Other requests of this thread wait for some pages, and not for those of 200 zones.
            if writer.byteCount - yieldedAt > Self.byteCountBetweenYields {
                await Task.yield()
                yieldedAt = writer.byteCount
            }
            if index > 0 { writer.literal(",") }
            // `zoneID` and `syncToken` have no default, because they belong to one zone.
            let question = own.filled(with: defaults)
            do throws(WebError) {
                guard let zone = question.zone else {
                    throw .badRequest("The member \"zoneID\" is missing.")
                }
                // The pages of 200 zones could have 800 MiB together. One record at least, so that
                // the client reaches the end of each zone.
                let changes = try await changes(
                    of: zone,
                    question,
                    request.caller,
                    byteLimit: max(Self.answerByteLimit - writer.byteCount, 1)
                )
                writer.numbersAsStrings = question.numbersAsStrings ?? false
                await write(into: &writer, request) { writer in
                    writer.literal("{\"zoneID\":")
                    writer.zoneID(zone)
                    writer.literal(",")
                    writer.changes(changes, question)
                    writer.literal("}")
                }
            } catch {
                // A zone that fails does not fail the request: the other zones have their pages.
                writer.failure(error.inForm(of: request), ofZone: question.zone ?? .default)
            }
        }
        writer.literal("]")
        return writer.finished()
    }

    func recordChanges(_ request: WebRequest) async throws(WebError) -> [UInt8] {
        var question = ZoneQuestion()
        try request.read { (it, name) throws(JSONError) in try it.member(name, of: &question) }
        // As Apple's service. The newer `changes/zone` accepts the default zone here
        // (Docs/web-services.md).
        guard let zone = question.zone else {
            throw .badRequest(
                "The request has no zoneID, so it is for the default zone, which reports no changes."
            )
        }
        guard !zone.isDefault else { throw .badRequest("cannot get changes in default zone") }
        let changes = try await changes(of: zone, question, request.caller)
        var writer = WebWriter(self, request)
        writer.numbersAsStrings = question.numbersAsStrings ?? false
        writer.literal("{")
        await write(into: &writer, request) { $0.changes(changes, question) }
        return writer.finished()
    }

    private func changes(
        of zone: ZoneID,
        _ question: ZoneQuestion,
        _ caller: Caller,
        byteLimit: Int? = nil
    ) async throws(WebError) -> ZonePage {
        // The token itself says that the feed is read backwards, so `reverse` may be missing from
        // the second request on.
        if let text = question.token, let place = try ReversePlace(text) {
            return try await newestChanges(of: zone, question, place, caller, byteLimit)
        }
        var wanted = ZoneChangesRequest(
            zone: zone,
            since: try token(question.token),
            limit: pageLimit(question.limit),
            byteLimit: byteLimit,
            desiredKeys: question.desiredKeys
        )
        guard question.token == "" else {
            guard question.isReversed == true,
                let end = host.currentToken(of: zone, as: caller)
            else {
                // Without a token the zone does not exist or is not the caller's: the service
                // reports which.
                return ZonePage(
                    try await ask { (it) throws(SyncError) in
                        try await it.zoneChanges(wanted, as: caller)
                    }
                )
            }
            let place = ReversePlace(since: wanted.since, before: end, end: end)
            return try await newestChanges(of: zone, question, place, caller, byteLimit)
        }
        // A client that sends an empty token has seen everything.
        // The pages are read only for their last token, so no field is selected.
        wanted.desiredKeys = []
        wanted.limit = nil
        wanted.byteLimit = nil
        while true {
            let page = try await ask { (it) throws(SyncError) in
                try await it.zoneChanges(wanted, as: caller)
            }
            guard page.moreComing else {
                return ZonePage(
                    ZoneChanges(zone: zone, changes: [], token: page.token, moreComing: false)
                )
            }
            wanted.since = page.token
            await Task.yield()
        }
    }

    /// Returns a page of changes from the end of the feed towards its beginning.
    private func newestChanges(
        of zone: ZoneID,
        _ question: ZoneQuestion,
        _ place: ReversePlace,
        _ caller: Caller,
        _ byteLimit: Int?
    ) async throws(WebError) -> ZonePage {
        let wanted = ZoneChangesRequest(
            zone: zone,
            since: place.since,
            limit: pageLimit(question.limit),
            byteLimit: byteLimit,
            desiredKeys: question.desiredKeys
        )
        do throws(SyncError) {
            let page = try await host.newestChanges(wanted, through: place.before, as: caller)
            return ZonePage(page, readFrom: place)
        } catch {
            throw WebError(error)
        }
    }

    private func token(_ text: String?) throws(WebError) -> ChangeToken? {
        guard let text, !text.isEmpty else { return nil }
        guard let token = ChangeToken(text) else {
            throw .badRequest(
                text.hasPrefix("t.")
                    ? "Invalid continuation format" : "Unknown sync continuation type"
            )
        }
        return token
    }
}

/// The position in a feed that is read from its end, as the text of a sync token.
///
/// After the last page the token is an ordinary one: from there on, the feed is read forwards.
private struct ReversePlace {
    /// The token that the client began with; `nil` for none.
    var since: ChangeToken?
    /// The token before which all changes are still to be returned; those after it were returned.
    var before: ChangeToken
    /// The end of the feed when its reading began.
    var end: ChangeToken

    static let prefix = "r."
}

extension ReversePlace {
    /// Reads the text of a token; `nil` for one of another kind.
    init?(_ text: String) throws(WebError) {
        guard text.hasPrefix(Self.prefix) else { return nil }
        let parts = text.dropFirst(2).split(separator: ".", omittingEmptySubsequences: false)
            // The texts of tokens begin with `t.`, which the text of a place leaves out. An empty
            // part is no token.
            .map { $0.isEmpty ? nil : ChangeToken("t.\($0)") }
        // Only the first may be empty.
        guard parts.count == 3, let before = parts[1], let end = parts[2],
            parts[0] != nil || text.hasPrefix(Self.prefix + ".")
        else {
            throw .badRequest("Invalid continuation format")
        }
        self.init(since: parts[0], before: before, end: end)
    }

    var text: String {
        let parts = [since, before, end].map { $0?.description.dropFirst(2) ?? "" }
        return Self.prefix + parts.joined(separator: ".")
    }
}

/// A page of a zone's changes, in the order of the answer.
private struct ZonePage {
    let changes: RecordChanges
    let isReversed: Bool
    let token: String
    let moreComing: Bool

    init(_ changes: ZoneChanges) {
        self.changes = changes.changes
        isReversed = false
        token = changes.token.description
        moreComing = changes.moreComing
    }

    init(_ page: ZoneChanges, readFrom place: ReversePlace) {
        changes = page.changes
        isReversed = true
        var next = place
        // `end` stays through all pages. The token of the last page is `end`, so changes that were
        // made while the client read backwards follow when it reads forwards.
        next.before = page.token
        token = page.moreComing ? next.text : place.end.description
        moreComing = page.moreComing
    }
}

/// The request for one zone; omitted members default to those of the whole request.
struct ZoneQuestion {
    var zone: ZoneID?
    var token: String?
    var limit: Int?
    var desiredKeys: [String]?
    var desiredRecordTypes: [String]?
    var isReversed: Bool?
    var numbersAsStrings: Bool?

    func filled(with defaults: ZoneQuestion) -> ZoneQuestion {
        var filled = self
        filled.limit = limit ?? defaults.limit
        filled.desiredKeys = desiredKeys ?? defaults.desiredKeys
        filled.desiredRecordTypes = desiredRecordTypes ?? defaults.desiredRecordTypes
        filled.isReversed = isReversed ?? defaults.isReversed
        filled.numbersAsStrings = numbersAsStrings ?? defaults.numbersAsStrings
        return filled
    }

    /// Returns true if records of a type are returned.
    func includes(_ recordType: @autoclosure () -> String) -> Bool {
        desiredRecordTypes.map { $0.contains(recordType()) } ?? true
    }
}

extension JSONReader {
    fileprivate mutating func zoneQuestion() throws(JSONError) -> ZoneQuestion {
        var question = ZoneQuestion()
        try members { (it, name) throws(JSONError) in try it.member(name, of: &question) }
        return question
    }

    fileprivate mutating func member(
        _ name: MemberName,
        of question: inout ZoneQuestion
    ) throws(JSONError) -> Bool {
        switch name {
        case "zoneID": question.zone = try zoneID()
        case "syncToken": question.token = try string()
        case "resultsLimit": question.limit = try count()
        case "desiredKeys": question.desiredKeys = try strings()
        case "desiredRecordTypes": question.desiredRecordTypes = try strings()
        case "reverse": question.isReversed = try truth()
        case "numbersAsStrings", "numberAsStrings": question.numbersAsStrings = try truth()
        default: return false
        }
        return true
    }
}

extension WebWriter {
    /// Writes the members with a page of a zone's changes.
    fileprivate mutating func changes(_ page: ZonePage, _ question: ZoneQuestion) {
        literal("\"records\":")
        if page.isReversed {
            lines(page.changes.reversed(), question)
        } else {
            lines(page.changes, question)
        }
        member("syncToken", page.token)
        member("moreComing", page.moreComing)
    }

    private mutating func lines(
        _ changes: some Collection<RecordChange>,
        _ question: ZoneQuestion
    ) {
        // After the page was made: a page may have few records, or none, and more to come.
        let told = changes.lazy.filter { change in
            switch change {
            case .changed(let record): question.includes(record.recordType)
            case .deleted(let deletion): question.includes(deletion.recordType)
            }
        }
        list(told) { writer, change in
            switch change {
            case .changed(let record): writer.record(record)
            case .deleted(let deletion): writer.deletion(deletion)
            }
        }
    }

    private mutating func deletion(_ deletion: DeletedRecord) {
        literal("{\"recordName\":")
        string(deletion.recordID.recordName)
        literal(",\"recordType\":null,\"deleted\":true")
        member("recordChangeTag", deletion.changeTag.text)
        literal(",\"zoneID\":")
        zoneID(deletion.recordID.zone)
        literal("}")
    }
}

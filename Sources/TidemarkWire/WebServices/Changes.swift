// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkModel

/// `changes/zone`, `changes/database` and their predecessors: what changed after a token.
extension WebServices {
    func databaseChanges(_ request: WebRequest) async throws(WebError) -> [UInt8] {
        var text: String?
        var limit: Int?
        // The older endpoint ignores the newer name of its token.
        let isOlder = request.endpoint == "zones/changes"
        try request.read { (it, name) throws(JSONError) in
            switch name {
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
        if text == "" {
            while changes.moreComing {
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
            writer.literal("{\"zoneID\":")
            writer.zoneID(change.zone)
            if case .deleted = change {
                writer.literal(",\"deleted\":true}")
            } else {
                writer.literal(change.zone.isDefault ? "}" : ",\"atomic\":true}")
            }
        }
        writer.member("syncToken", changes.token.description)
        if isOlder { writer.member("metaSyncToken", changes.token.description) }
        writer.literal(changes.moreComing ? ",\"moreComing\":true" : ",\"moreComing\":false")
        return writer.finished()
    }

    func zoneChanges(_ request: WebRequest) async throws(WebError) -> [UInt8] {
        var zones: [ZoneQuestion] = []
        var defaults = ZoneQuestion()
        try request.read { (it, name) throws(JSONError) in
            guard name == "zones" else { return try it.member(name, of: &defaults) }
            zones = try it.values { (it) throws(JSONError) in try it.zoneQuestion() }
            return true
        }
        try checkCount(zones.count, of: "zones")
        var writer = WebWriter(self, request)
        writer.literal("{\"zones\":[")
        for (index, own) in zones.enumerated() {
            if index > 0 { writer.literal(",") }
            let question = own.filled(with: defaults)
            do throws(WebError) {
                guard let zone = question.zone else {
                    throw .badRequest("The member \"zoneID\" is missing")
                }
                let changes = try await changes(of: zone, question, request.caller)
                writer.numbersAsStrings = question.numbersAsStrings ?? false
                writer.literal("{\"zoneID\":")
                writer.zoneID(zone)
                writer.literal(",")
                writer.changes(changes, question)
                writer.literal("}")
            } catch {
                var failure = error
                if request.isExtended, failure.reason.hasPrefix("Change token expired") {
                    failure.code = "CHANGE_TOKEN_EXPIRED"
                }
                writer.failure(failure, ofZone: question.zone ?? .default)
            }
        }
        writer.literal("]")
        return writer.finished()
    }

    func recordChanges(_ request: WebRequest) async throws(WebError) -> [UInt8] {
        var question = ZoneQuestion()
        try request.read { (it, name) throws(JSONError) in try it.member(name, of: &question) }
        guard let zone = question.zone, !zone.isDefault else {
            throw .badRequest("cannot get changes in default zone")
        }
        let changes = try await changes(of: zone, question, request.caller)
        var writer = WebWriter(self, request)
        writer.numbersAsStrings = question.numbersAsStrings ?? false
        writer.literal("{")
        writer.changes(changes, question)
        return writer.finished()
    }

    private func changes(
        of zone: ZoneID,
        _ question: ZoneQuestion,
        _ caller: Caller
    ) async throws(WebError) -> ZoneChanges {
        guard question.isReversed != true else {
            throw .badRequest(
                "\"reverse\" is not supported; leave it out and read the feed to its end"
            )
        }
        var wanted = ZoneChangesRequest(
            zone: zone,
            since: try token(question.token),
            limit: pageLimit(question.limit),
            desiredKeys: question.desiredKeys
        )
        guard question.token == "" else {
            return try await ask { (it) throws(SyncError) in
                try await it.zoneChanges(wanted, as: caller)
            }
        }
        // Whoever sends an empty token has seen everything.
        wanted.desiredKeys = []
        wanted.limit = nil
        while true {
            let page = try await ask { (it) throws(SyncError) in
                try await it.zoneChanges(wanted, as: caller)
            }
            guard page.moreComing else {
                return ZoneChanges(zone: zone, changes: [], token: page.token, moreComing: false)
            }
            wanted.since = page.token
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

/// The question about one zone; what it leaves out, the request says for all zones.
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

    /// Tells whether a record of a type is to be told.
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
        _ name: String,
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
    /// Writes the members that tell a page of a zone's changes.
    fileprivate mutating func changes(_ changes: ZoneChanges, _ question: ZoneQuestion) {
        literal("\"records\":")
        let told = changes.changes.lazy.filter { change in
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
        member("syncToken", changes.token.description)
        literal(changes.moreComing ? ",\"moreComing\":true" : ",\"moreComing\":false")
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

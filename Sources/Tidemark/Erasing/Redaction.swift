// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel

/// Decides the fate of each event of a log in an erasure: dropped, kept as is, or kept without the
/// words that name a user or a zone.
///
/// A pure function of an event, once all commits have been read.
struct Redaction {
    let traces: ErasureTraces
    /// Commits that lose events.
    private var hurt = PositionSet()
    /// Commits to the database of the removed zone.
    private var kin = PositionSet()
    /// Words to remove from the data about users and rejected items.
    private let words: [[UInt8]]
    /// The same words as JSON writes them in its strings.
    private let wordsInJSON: [[UInt8]]
    /// The users that the subject is; empty for a zone.
    private let users: Set<UserID>

    init(_ traces: ErasureTraces) {
        self.traces = traces
        users = traces.users
        var texts = traces.addressTexts.map(\.string)
        texts += traces.users.map(\.userRecordName)
        if let zone = traces.subject.zone { texts.append(zone.zoneName.string) }
        texts.removeAll(where: \.isEmpty)
        words = texts.map { Array($0.utf8) }
        wordsInJSON = texts.map { text in
            var quoted: [UInt8] = []
            quoted.append(jsonString: text)
            return Array(quoted.dropFirst().dropLast())
        }
    }

    /// Returns true if the bytes contain a word that names the subject.
    func isNamed(in bytes: RawSpan) -> Bool { words.contains { bytes.contains($0) } }

    // MARK: Going

    /// Reads the commit of an event.
    ///
    /// Call this for all events before asking for the form of any.
    mutating func add(_ event: LogEvent) throws(EventFormatError) {
        if traces.kin.contains(event.zone) { kin.insert(event.commit.first) }
        // The events before the dropped one need the same new envelope. So all losses must be known
        // before the first form is made.
        if try drops(event) { hurt.insert(event.commit.first) }
    }

    /// Returns true if an event is dropped.
    func drops(_ event: LogEvent) throws(EventFormatError) -> Bool {
        if traces.zones.contains(event.zone) { return true }
        // A name cannot be removed from an event of a kind that a newer version wrote.
        if event.isSkipped, isNamed(in: event.payload.span.bytes) { return true }
        guard let limits = traces.limits[event.zone] else { return false }
        switch event.kind {
        case .recordSaved, .recordDeleted, .recordTouched: break
        default: return false
        }
        let stored = try StoredRecord(event.sequence, zone: event.zone, event.payload)
        let name =
            stored.event.state == .live ? try stored.body().recordName : try stored.tombstone().name
        return limits[Name(name)].map { event.sequence <= $0 } ?? false
    }

    // MARK: Staying

    /// Returns the form in which an event is kept; `nil` if it is dropped.
    func form(of event: LogEvent) throws(EventFormatError) -> LogEvent? {
        if try drops(event) { return nil }
        let envelope = try redactedEnvelope(of: event)
        let payload = try redactedPayload(of: event)
        if envelope == nil, payload == nil { return event }
        return event.replacing(
            payload: payload ?? Array(event.payload),
            envelope: envelope ?? Array(event.envelope)
        )
    }

    /// Returns an envelope without the words that name the subject; `nil` if it is unchanged.
    ///
    /// A request that has lost an event cannot be answered again.
    private func redactedEnvelope(of event: LogEvent) throws(EventFormatError) -> [UInt8]? {
        let bytes = event.envelope
        let commit = event.commit.first
        let isHurt = hurt.contains(commit)
        let isKin = kin.contains(commit)
        guard isHurt || isKin || isNamed(in: bytes.span.bytes) else { return nil }
        let old = try CommitEnvelope(bytes.span.bytes)
        var envelope = old
        let isOwn = old.user.map { users.contains(UserID($0)) } ?? false
        if isOwn {
            envelope.user = nil
            envelope.device = nil
            envelope.build = nil
            // A credential and a trace belong to the user, and a newer version's extras are
            // unknown.
            envelope.extras = EnvelopeExtras()
        }
        if isOwn || isHurt {
            envelope.request = nil
            envelope.outcomes = []
        }
        // An id that was derived from an imported line is a hash: it names no user, and without it
        // the line would count as a new one.
        if !users.isEmpty, let request = envelope.request,
            request.database.map({ users.contains($0.owner) }) ?? false
                || !request.isDerived && isNamed(in: Array(request.id.utf8).span.bytes)
        {
            envelope.request = nil
            envelope.outcomes = []
        }
        // The code of a rejection stays: it names nothing, and a retry must still fail.
        envelope.outcomes = envelope.outcomes.map { outcome in
            guard case .refused(let code, let message, let against) = outcome,
                isKin || isNamed(in: Array(message.utf8).span.bytes)
            else { return outcome }
            return .refused(code: code, message: "", against: against)
        }
        return envelope == old ? nil : envelope.bytes
    }

    /// Returns a record's event without the words that name the subject; `nil` if it is unchanged.
    private func redactedPayload(of event: LogEvent) throws(EventFormatError) -> [UInt8]? {
        let isCall = traces.isOfAdministration(event.zone)
        // Other records of the store that name an erased zone are dropped as a whole.
        guard traces.subject.user != nil || isCall else { return nil }
        switch event.kind {
        case .recordSaved, .recordTouched: break
        default: return nil
        }
        let stored = try StoredRecord(event.sequence, zone: event.zone, event.payload)
        let body = try stored.body()
        var values: [String: FieldValue] = [:]
        if body.isShare {
            values = Share.redactions(of: body.fields, without: traces.isMeant)
        } else if traces.isOfUsers(event.zone) {
            values = contacts(in: body.fields)
        } else if isCall {
            values = content(ofCall: body.fields)
        }
        let writer = users.first { body.isWritten(by: $0) }
        guard !values.isEmpty || writer != nil else { return nil }
        // The header stays as it is, so positions, chains and flags remain valid.
        return Array(event.payload.prefix(stored.bodyOffset))
            + body.redacted(without: writer ?? traces.subject.user, values: values).bytes
    }

    /// Returns the contacts of another user's account without the user, if they include the user.
    private func contacts(in fields: Fields) -> [String: FieldValue] {
        guard case .stringList(let list)? = fields["contacts"] else { return [:] }
        let left = list.filter { !traces.isMeant(UserLookup($0)) }
        return left.count < list.count ? ["contacts": .stringList(left)] : [:]
    }

    /// Returns the content of an administrator's call without anything, if it names the subject.
    private func content(ofCall fields: Fields) -> [String: FieldValue] {
        guard case .string(let content)? = fields["content"] else { return [:] }
        if let zone = traces.subject.zone {
            return names(zone, inCall: content) ? ["content": .string("")] : [:]
        }
        // The server takes an address in any case, and with spaces.
        let normalized = content.lowercased().filter { !$0.isWhitespace }
        let isMeant = [content, normalized].contains { text in
            let bytes = Array(text.utf8)
            return wordsInJSON.contains { bytes.span.bytes.contains($0) }
        }
        return isMeant ? ["content": .string("")] : [:]
    }

    /// Returns true if a call, as JSON, names a zone, and not another owner.
    ///
    /// Many users have zones of one name, so the name alone is not enough where there is an owner.
    private func names(_ zone: ZoneIdentity, inCall content: String) -> Bool {
        let bytes = Array(content.utf8)
        func has(_ text: String) -> Bool {
            var quoted: [UInt8] = []
            quoted.append(jsonString: text)
            return bytes.span.bytes.contains(quoted)
        }
        guard has(zone.zoneName.string) else { return false }
        return !content.contains("\"owner\":") || has(zone.database.owner.userRecordName)
    }
}

extension RawSpan {
    /// Returns true if the bytes contain the wanted bytes.
    func contains(_ wanted: [UInt8]) -> Bool {
        guard let first = wanted.first, wanted.count <= byteCount else { return false }
        return withUnsafeBytes { bytes in
            (0...bytes.count - wanted.count).contains { start in
                bytes[start] == first
                    && bytes[start..<start + wanted.count].elementsEqual(wanted)
            }
        }
    }
}

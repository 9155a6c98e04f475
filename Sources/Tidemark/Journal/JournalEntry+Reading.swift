// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkEvents
import TidemarkLog
import TidemarkModel

extension JournalEntry.Content {
    /// Reads content; the span must hold nothing else.
    package init(_ span: RawSpan) throws(EventFormatError) {
        guard let content = Self.read(span) else {
            throw EventFormatError("An entry of the journal has an unknown form.")
        }
        self = content
    }

    private static func read(_ span: RawSpan) -> Self? {
        var offset = 0
        guard let kind = span.nextByte(at: &offset).flatMap(Kind.init) else { return nil }
        let content: Self?
        switch kind {
        case .began:
            content = span.nextByte(at: &offset).flatMap(StoreOptions.Journal.init)
                .map { .began($0) }
        case .ended: content = .ended
        case .refused: content = span.refused(at: &offset).map { .refused($0) }
        case .told: content = span.told(at: &offset).map { .told($0) }
        }
        // Bytes that are left over belong to another form of the entry.
        return offset == span.byteCount ? content : nil
    }
}

/// The call and its caller.
private struct JournalledCall {
    var call: JournalEntry.Call
    var caller: Caller
    var since: ChangeToken?
}

/// Parts of entries; each is read and moved past, and `nil` if it is cut off.
extension RawSpan {
    fileprivate func nextByte(at offset: inout Int) -> UInt8? {
        guard offset < byteCount else { return nil }
        defer { offset += 1 }
        return byte(at: offset)
    }

    private func count(at offset: inout Int) -> Int? {
        variableInteger(at: &offset).flatMap { Int(exactly: $0) }
    }

    private func token(at offset: inout Int) -> ChangeToken? {
        guard let range = countedRange(at: &offset) else { return nil }
        return ChangeToken(bytes: extracting(range).withUnsafeBytes { [UInt8]($0) })
    }

    private func zone(at offset: inout Int) -> ZoneID? {
        guard let owner = string(at: &offset), let name = string(at: &offset) else { return nil }
        return ZoneID(zoneName: name, ownerName: owner)
    }

    private func call(at offset: inout Int) -> JournalledCall? {
        guard let call = nextByte(at: &offset).flatMap(JournalEntry.Call.init),
            let flags = nextByte(at: &offset), let database = DatabaseID(self, at: &offset)
        else { return nil }
        var caller = Caller(database: database, user: nil)
        if flags & JournalEntry.Flag.user != 0 {
            guard let user = string(at: &offset) else { return nil }
            caller.user = UserID(user)
        }
        if flags & JournalEntry.Flag.device != 0 {
            guard let device = string(at: &offset) else { return nil }
            caller.device = device
        }
        if flags & JournalEntry.Flag.build != 0 {
            guard let build = string(at: &offset) else { return nil }
            caller.build = build
        }
        if flags & JournalEntry.Flag.request != 0 {
            guard let request = string(at: &offset) else { return nil }
            caller.requestID = request
        }
        var found = JournalledCall(call: call, caller: caller)
        if flags & JournalEntry.Flag.since != 0 {
            guard let since = token(at: &offset) else { return nil }
            found.since = since
        }
        return found
    }

    fileprivate func refused(at offset: inout Int) -> JournalEntry.Refused? {
        guard let call = call(at: &offset), let count = count(at: &offset),
            let omittedCount = self.count(at: &offset)
        else { return nil }
        var refused = JournalEntry.Refused(call.call, call.caller, since: call.since, [])
        refused.omittedCount = omittedCount
        // The list grows as it is read: a damaged count must not reserve memory.
        while refused.refusals.count < count {
            guard let refusal = refusal(at: &offset) else { return nil }
            refused.refusals.append(refusal)
        }
        return refused
    }

    private func refusal(at offset: inout Int) -> JournalEntry.Refusal? {
        let item: SyncError.Item?
        switch nextByte(at: &offset) {
        case 0: item = nil
        case 1:
            guard let zone = zone(at: &offset), let name = string(at: &offset) else { return nil }
            item = .record(RecordID(recordName: name, zone: zone))
        case 2:
            guard let zone = zone(at: &offset) else { return nil }
            item = .zone(zone)
        case 3:
            guard let id = string(at: &offset) else { return nil }
            item = .subscription(id)
        default: return nil
        }
        guard let code = count(at: &offset), let message = string(at: &offset) else { return nil }
        return JournalEntry.Refusal(
            item,
            // An unknown code does not lose the entry, whose text still says the reason.
            SyncError.Code(rawValue: code) ?? .internalError,
            message
        )
    }

    fileprivate func told(at offset: inout Int) -> JournalEntry.Told? {
        guard let call = call(at: &offset), let flags = nextByte(at: &offset),
            offset + 8 <= byteCount
        else { return nil }
        let shownThrough = SequenceNumber(rawValue: integer(at: offset))
        offset += 8
        guard let changeCount = count(at: &offset), let token = token(at: &offset) else {
            return nil
        }
        var zone: ZoneID?
        if flags & 2 != 0 {
            guard let found = self.zone(at: &offset) else { return nil }
            zone = found
        }
        return JournalEntry.Told(
            call.call,
            call.caller,
            zone: zone,
            since: call.since,
            token: token,
            shownThrough: shownThrough,
            changeCount: changeCount,
            moreComing: flags & 1 != 0
        )
    }
}

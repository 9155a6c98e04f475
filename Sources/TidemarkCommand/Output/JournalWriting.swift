// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Tidemark
import TidemarkModel

/// Entries of the journal, as JSON for programs.
extension [UInt8] {
    /// Appends an entry.
    mutating func append(json entry: JournalEntry) {
        append(literal: "{")
        append(member: "time", jsonNumber: entry.time)
        // An entry that could not be written cannot say so itself, so the next one has the number.
        if entry.lostCount > 0 {
            append(member: "lostBefore", jsonNumber: entry.lostCount)
        }
        switch entry.content {
        case .began(let journal): append(member: "began", jsonString: journal.name)
        case .ended: append(literal: ",\"ended\":true")
        case .refused(let refused): append(membersOf: refused)
        case .told(let told): append(membersOf: told)
        }
        append(literal: "}")
    }

    private mutating func append(membersOf refused: JournalEntry.Refused) {
        append(member: "refused", jsonString: "\(refused.call)")
        append(membersOf: refused.caller)
        append(member: "since", jsonString: refused.since?.description)
        append(member: "refusals")
        append(jsonList: refused.refusals) { bytes, refusal in
            bytes.append(literal: "{\"item\":")
            if let item = refusal.item {
                bytes.append(json: item)
            } else {
                bytes.append(literal: "null")
            }
            bytes.append(membersOf: refusal)
            bytes.append(literal: "}")
        }
        if refused.omittedCount > 0 {
            append(member: "omitted", jsonNumber: refused.omittedCount)
        }
    }

    private mutating func append(membersOf told: JournalEntry.Told) {
        append(member: "told", jsonString: "\(told.call)")
        append(membersOf: told.caller)
        if let zone = told.zone {
            append(member: "of")
            append(json: SyncError.Item.zone(zone))
        }
        append(member: "since", jsonString: told.since?.description)
        append(member: "token", jsonString: told.token.description)
        append(member: "shownThrough", jsonNumber: told.shownThrough.rawValue)
        append(member: "changes", jsonNumber: told.changeCount)
        append(member: "moreComing", jsonBool: told.moreComing)
    }

    /// Appends the user, the device and the request id of the caller.
    mutating func append(membersOf caller: Caller) {
        append(member: "user", jsonString: caller.user?.userRecordName)
        append(member: "device", jsonString: caller.device)
        append(member: "build", jsonString: caller.build)
        append(member: "request", jsonString: caller.requestID)
    }

    /// Appends the rejected item and the rule.
    mutating func append(membersOf refusal: JournalEntry.Refusal) {
        append(member: "code", jsonString: "\(refusal.code)")
        append(member: "number", jsonNumber: refusal.code.rawValue)
        append(member: "message", jsonString: refusal.message.isEmpty ? nil : refusal.message)
    }
}

/// Entries of the journal, as a person reads them.
extension JournalEntry {
    /// Returns one line, and one for each rejected item.
    func lines(_ ink: Ink) -> [String] {
        var lines: [String] = []
        if lostCount > 0 { lines.append(ink.text("\(lostCount) entries are lost here.", .aside)) }
        let when = RFC3339.text(milliseconds: time)
        func add(_ text: String) { lines.append("\(ink.text(when, .position)) \(text.printable)") }
        switch content {
        case .began(let journal): add("opened for writing; the journal holds: \(journal.name)")
        case .ended: add("closed")
        case .refused(let refused):
            add("refused \(refused.call) \(refused.caller.summary)")
            lines += refused.refusals.map { "  \($0.summary)".printable }
            if refused.omittedCount > 0 { lines.append("  and \(refused.omittedCount) more") }
        case .told(let told):
            let place = told.zone.map { " of \($0)" } ?? ""
            let more = told.moreComing ? ", with more to come" : ""
            add(
                "told \(told.call)\(place) \(told.caller.summary): \(told.changeCount) changes, "
                    + "from \(told.since?.description ?? "the beginning") to \(told.token)\(more)"
            )
        }
        return lines
    }
}

extension Caller {
    fileprivate var summary: String {
        let author = [user?.userRecordName, device].compactMap(\.self).joined(separator: " on ")
        return "to \(author)" + (requestID.map { ", request \($0)" } ?? "")
    }
}

extension JournalEntry.Refusal {
    fileprivate var summary: String {
        let what = item.map { "\($0.name): " } ?? ""
        let reason = message.isEmpty ? "" : " \(message)"
        return "\(what)\(code) (\(code.rawValue)).\(reason)"
    }
}

extension SyncError.Item {
    /// The name of the value, in words.
    var name: String {
        switch self {
        case .record(let record): "the record \(record)"
        case .zone(let zone): "the zone \(zone)"
        case .subscription(let id): "the subscription \(id)"
        }
    }
}

extension StoreOptions.Journal {
    fileprivate var name: String {
        switch self {
        case .refusals: "refusals"
        case .full: "full"
        }
    }
}

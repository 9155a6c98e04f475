// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkModel
import TidemarkReplay

/// Writes the log's past as JSON for programs.
extension [UInt8] {
    /// Appends the origin of an event, as members of the object that has begun.
    mutating func append(membersOf origin: ChangeOrigin) {
        append(member: "time", jsonNumber: origin.time)
        append(member: "received", jsonNumber: origin.received)
        append(member: "user", jsonString: origin.user?.userRecordName)
        append(member: "device", jsonString: origin.device)
        append(member: "build", jsonString: origin.build)
        append(member: "request", jsonString: origin.request)
    }

    /// Appends an entry of a history.
    mutating func append(json entry: RecordHistory.Entry) {
        switch entry {
        case .change(let change):
            append(json: change)
        case .pruned(let sequence):
            append(literal: "{")
            append(member: "historyPrunedThrough", jsonNumber: sequence.rawValue)
            append(literal: "}")
        }
    }

    private mutating func append(json change: PastChange) {
        append(literal: "{")
        append(member: "sequence", jsonNumber: change.origin.sequence.rawValue)
        append(member: "happened", jsonString: change.happening.rawValue)
        append(membersOf: change.origin)
        append(member: "zoneKey", jsonNumber: change.zoneEpoch.rawValue)
        append(member: "recordType", jsonString: change.record?.recordType)
        append(member: "recordTypeBefore", jsonString: change.recordTypeBefore)
        append(member: "recordChangeTag", jsonString: change.record?.changeTag?.text)
        append(member: "policy", jsonString: change.policy.map { String(describing: $0) })
        if change.policy != nil || change.happening == .deleted {
            append(membersOf: change.fields)
        }
        append(membersOf: change.parent)
        append(member: "audience", jsonNumber: change.audience?.rawValue)
        append(member: "reason", jsonString: change.reason.map { String(describing: $0) })
        append(literal: "}")
    }

    /// Appends a record's parent before and after, if that changed.
    mutating func append(membersOf parent: PastChange.ParentMove?) {
        guard let parent else { return }
        append(member: "parent")
        append(json: parent.after)
        append(member: "parentBefore")
        append(json: parent.before)
    }

    /// Appends the fields that were set and removed, with their old values.
    mutating func append(membersOf fields: [FieldChange]) {
        append(member: "set")
        append(json: fields) { $0.new }
        append(member: "removed")
        append(jsonList: fields.filter { $0.new == nil }) { $0.append(jsonString: $1.name) }
        append(member: "before")
        append(json: fields) { $0.old }
    }

    /// Appends one side of some fields as an object.
    private mutating func append(
        json fields: [FieldChange],
        _ side: (FieldChange) -> Fields.Element?
    ) {
        append(UInt8(ascii: "{"))
        var isFirst = true
        for field in fields {
            guard let value = side(field) else { continue }
            if !isFirst { append(UInt8(ascii: ",")) }
            isFirst = false
            append(jsonString: field.name)
            append(UInt8(ascii: ":"))
            append(json: value)
        }
        append(UInt8(ascii: "}"))
    }

    private mutating func append(json text: String?) {
        guard let text else { return append(literal: "null") }
        append(jsonString: text)
    }

    /// Appends one field and the event that set it.
    mutating func append(json field: Blame.Field) {
        append(literal: "{")
        append(member: "field", jsonString: field.name)
        append(member: "value")
        if field.element.isRemoved {
            append(literal: "null,\"isRemoved\":true")
        } else {
            append(json: field.element)
        }
        append(member: "sequence", jsonNumber: field.stamp.rawValue)
        if let origin = field.origin {
            append(membersOf: origin)
        } else {
            append(literal: ",\"isHistoryPruned\":true")
        }
        append(literal: "}")
    }
}

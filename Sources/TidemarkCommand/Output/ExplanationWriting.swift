// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Tidemark
import TidemarkModel
import TidemarkReplay

/// The reason why a device does not have a record, as JSON for programs.
extension [UInt8] {
    /// Appends the subject of the question, and the name of the answer.
    mutating func append(subjectOf explanation: Explanation) {
        append(literal: "{")
        append(member: "answer", jsonString: explanation.causes.first?.name ?? "unknown")
        append(member: "zone", jsonString: explanation.record.zone.zoneName)
        append(member: "recordName", jsonString: explanation.record.recordName)
        append(member: "device", jsonString: explanation.device)
        append(member: "deviceUser", jsonString: explanation.user?.userRecordName)
        if let version = explanation.version {
            append(member: "sequence", jsonNumber: version.origin.sequence.rawValue)
            append(member: "happened", jsonString: version.happening.rawValue)
            append(member: "recordChangeTag", jsonString: version.record?.changeTag?.text)
            append(membersOf: version.origin)
        }
        append(literal: "}")
    }

    /// Appends one cause.
    mutating func append(json cause: Explanation.Cause) {
        append(literal: "{")
        append(member: "cause", jsonString: cause.name)
        switch cause {
        case .neverSaved, .neverAsked, .unknown: break
        case .noSuchZone(let known, let count):
            append(member: "known")
            append(jsonList: known) { $0.append(jsonString: $1) }
            append(member: "zones", jsonNumber: count)
        case .refused(let refusal), .fetchRefused(let refusal): append(membersOf: refusal)
        case .hidden(let hiding): append(membersOf: hiding)
        case .committedAfterToken(let delivery), .beganAfterDeletion(let delivery):
            append(membersOf: delivery)
        case .superseded(let sequence, let delivery):
            append(member: "by", jsonNumber: sequence.rawValue)
            append(membersOf: delivery)
        case .delivered(let delivery, let acknowledgement):
            if let delivery { append(membersOf: delivery) }
            append(member: "isAcknowledged", jsonBool: acknowledgement != nil)
            if let acknowledgement {
                append(member: "acknowledged", jsonNumber: acknowledgement.time)
                append(member: "acknowledgedToken", jsonString: acknowledgement.token.description)
            }
        }
        append(literal: "}")
    }

    /// Appends a gap.
    mutating func append(json gap: Explanation.Gap) {
        append(literal: "{\"unknown\":")
        switch gap {
        case .noJournal:
            append(jsonString: "noJournal")
        case .journalBegins(let time):
            append(jsonString: "journalBegins")
            append(member: "time", jsonNumber: time)
        case .notFull(let from, let end):
            append(jsonString: "journalNotFull")
            append(member: "from", jsonNumber: from)
            append(member: "to", jsonNumber: end)
        case .entriesLost(let count):
            append(jsonString: "entriesLost")
            append(member: "count", jsonNumber: count)
        case .journalDamaged(let count):
            append(jsonString: "journalDamaged")
            append(member: "count", jsonNumber: count)
        case .historyPruned(let sequence):
            append(jsonString: "historyPruned")
            append(member: "historyPrunedThrough", jsonNumber: sequence.rawValue)
        case .noTrace(let sequence, let time):
            append(jsonString: "noTrace")
            append(member: "historyBegins", jsonNumber: sequence?.rawValue)
            append(member: "time", jsonNumber: time)
        case .userAssumed:
            append(jsonString: "userAssumed")
        }
        append(literal: "}")
    }

    private mutating func append(membersOf refusal: Explanation.Refusal) {
        append(member: "time", jsonNumber: refusal.time)
        append(membersOf: refusal.refusal)
        append(membersOf: refusal.refused.caller)
        append(member: "since", jsonString: refusal.refused.since?.description)
        if let reason = refusal.reason {
            append(literal: ",\"reason\":{\"of\":")
            switch reason.item {
            case .record(let record): append(jsonString: record.recordName)
            case .zone(let zone): append(jsonString: zone.zoneName)
            case .subscription(let id): append(jsonString: id)
            case nil: append(literal: "null")
            }
            append(membersOf: reason)
            append(literal: "}")
        }
    }

    private mutating func append(membersOf delivery: Explanation.Delivery) {
        append(member: "time", jsonNumber: delivery.time)
        append(member: "since", jsonString: delivery.told.since?.description)
        append(member: "token", jsonString: delivery.told.token.description)
        append(member: "moreComing", jsonBool: delivery.told.moreComing)
    }

    private mutating func append(membersOf hiding: RecordHiding) {
        let (name, member, value): (String, StaticString, String?) =
            switch hiding {
            case .zoneGone: ("zoneGone", "", nil)
            case .role(let message): ("role", "message", message)
            case .neverShown: ("neverShown", "", nil)
            case .notShared(let top): ("notShared", "top", top)
            case .notInvited(let share): ("notInvited", "share", share)
            case .notAccepted(let share): ("notAccepted", "share", share)
            case .left(let share): ("left", "share", share)
            case .noPermission(let share): ("noPermission", "share", share)
            }
        append(member: "because", jsonString: name)
        append(member: member, jsonString: value)
    }
}

extension Explanation.Cause {
    /// The case's name.
    fileprivate var name: String {
        switch self {
        case .neverSaved: "neverSaved"
        case .noSuchZone: "noSuchZone"
        case .refused: "refused"
        case .hidden: "notVisible"
        case .fetchRefused: "fetchRefused"
        case .committedAfterToken: "committedAfterToken"
        case .neverAsked: "neverAsked"
        case .superseded: "superseded"
        case .beganAfterDeletion: "beganAfterDeletion"
        case .delivered: "delivered"
        case .unknown: "unknown"
        }
    }
}

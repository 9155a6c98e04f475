// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkModel
import TidemarkReplay

/// The hints of an explanation: names that the question may have meant.
extension Explanation.Hint {
    /// The hint as sentences.
    func text(_ question: AbsenceQuestion) -> String {
        switch self {
        case .ownVersion:
            return "The device \"\(question.device)\" made this version itself, and got it with "
                + "the answer to its request. It needs no fetch."
        case .recordElsewhere(let record, let database, let isDeleted):
            let name = "\"\(record.recordName)\""
            let place = "in the zone \"\(record.zone.zoneName)\" of \(database.place)"
            let finding =
                isDeleted
                ? "A record \(name) was \(place), and was deleted."
                : "There is a record \(name) \(place)."
            return "\(finding) Ask about it: `\(question.command(for: record, in: database))`."
        case .searchStopped(let zoneCount):
            return "Only \(zoneCount) zones were searched for a record of that name. There are "
                + "more."
        case .zonesUnreadable(let zoneCount):
            return "\(zoneCount) of the searched zones could not be read, and may have a record of "
                + "that name. `tidemark log verify` reports the damage."
        case .deviceUnknown(let known):
            return "No journal entry is about the device \"\(question.device)\". The latest "
                + "entries are about these devices: \(known.joined(separator: ", "))."
        }
    }
}

extension DatabaseID {
    /// The database for a person.
    fileprivate var place: String {
        switch scope {
        case .public: "the public database"
        case .private: "the private database of \(owner.userRecordName)"
        case .shared: "the shared database of \(owner.userRecordName)"
        }
    }
}

extension Explanation {
    /// The steps with which a later question can be answered better.
    var advice: [String] {
        var lacksPages = false
        var lacksHistory = false
        for gap in gaps {
            switch gap {
            case .noJournal, .notFull: lacksPages = true
            case .historyPruned, .noTrace(_?, _): lacksHistory = true
            default: break
            }
        }
        var advice: [String] = []
        if lacksPages {
            advice.append(
                "A full journal records what devices fetch. `tidemark serve` and `tidemark exec` "
                    + "write one, and so does a program that opens the store with "
                    + "`StoreOptions.journal = .full`."
            )
        }
        if lacksHistory {
            advice.append(
                "`tidemark compact` keeps all history unless --keep-history limits it, and with a "
                    + "longer time it keeps more. See Docs/compaction.md."
            )
        }
        return advice
    }
}

extension [UInt8] {
    /// Appends a hint.
    mutating func append(json hint: Explanation.Hint) {
        append(literal: "{\"hint\":")
        switch hint {
        case .ownVersion:
            append(jsonString: "ownVersion")
        case .recordElsewhere(let record, let database, let isDeleted):
            append(jsonString: "recordElsewhere")
            append(member: "zone", jsonString: record.zone.zoneName)
            append(member: "recordName", jsonString: record.recordName)
            append(jsonMembersOf: database)
            append(member: "isDeleted", jsonBool: isDeleted)
        case .searchStopped(let zoneCount):
            append(jsonString: "searchStopped")
            append(member: "zones", jsonNumber: zoneCount)
        case .zonesUnreadable(let zoneCount):
            append(jsonString: "zonesUnreadable")
            append(member: "zones", jsonNumber: zoneCount)
        case .deviceUnknown(let known):
            append(jsonString: "deviceUnknown")
            append(member: "known")
            append(jsonList: known) { $0.append(jsonString: $1) }
        }
        append(literal: "}")
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Tidemark
import TidemarkModel
import TidemarkReplay

/// The reason why a device does not have a record, as text for people.
extension Explanation {
    /// Returns the question, the answer, further facts, hints, the unknowns and advice.
    func lines(_ ink: Ink, _ question: AbsenceQuestion) -> [String] {
        let whose = user.map { " of \($0.userRecordName)" } ?? ""
        var lines = [
            "Record \(record.description.printable), device \(device.printable)\(whose.printable)",
            version.map { "Version \($0.summary(ink))" } ?? "No version of it is in the log.",
        ]
        for (index, cause) in causes.enumerated() {
            let text = text(of: cause).printable
            lines.append(index == 0 ? ink.text("→ \(text)", .heading) : "  \(text)")
        }
        lines += hints.map { "Hint: \($0.text(question).printable)" }
        lines += gapTexts.map { ink.text("Not known: \($0)", .aside) }
        return lines + advice.map { ink.text("Note: \($0)", .aside) }
    }

    /// The gaps as half sentences, with one for the periods if there are many.
    ///
    /// Each command that writes to a store is a period without a full journal. A store that scripts
    /// write to has thousands.
    private var gapTexts: [String] {
        let periods = gaps.filter(\.isPeriod)
        guard periods.count > 3, case .notFull(let start, _)? = periods.first,
            case .notFull(_, let end)? = periods.last
        else { return gaps.map(\.text) }
        let rest = end.map { " to \(RFC3339.text(milliseconds: $0))" } ?? " on"
        let summary =
            "what devices fetched in \(periods.count) periods from "
            + "\(RFC3339.text(milliseconds: start))\(rest), which --json lists; the journal did not "
            + "record it."
        return [summary] + gaps.filter { !$0.isPeriod }.map(\.text)
    }

    /// Returns a cause as a sentence.
    private func text(of cause: Cause) -> String {
        switch cause {
        case .unknown where version == nil:
            return "It is unknown whether the record was ever saved: that history was dropped."
        case .noSuchZone(let known, let count):
            let finding =
                "No such zone: the log has no zone \"\(record.zone.zoneName)\" of the database. "
            if known.isEmpty {
                return finding + "The database has no zones; --owner names the owner of another."
            }
            let names = known.joined(separator: ", ")
            let others = count > known.count ? " and \(count - known.count) more" : ""
            return finding + "Its zones: \(names)\(others)."
        default: return cause.text
        }
    }
}

extension PastChange {
    fileprivate func summary(_ ink: Ink) -> String {
        let what = happening == .deleted || happening == .zoneDeleted ? "deleted" : "saved"
        let tag = record?.changeTag.map { " (\($0.text))" } ?? ""
        let author = origin.author.isEmpty ? "" : " by \(origin.author)"
        return ink.text("\(origin.sequence)", .position)
            + "\(tag), \(what) \(origin.timeText)\(author)"
    }
}

extension Explanation.Refusal {
    fileprivate var text: String {
        let caller = refused.caller
        let author = [caller.user?.userRecordName, caller.device].compactMap(\.self)
            .joined(separator: " on ")
        let request = caller.requestID.map { ", request \($0)" } ?? ""
        let when = RFC3339.text(milliseconds: time)
        return "\(when), \(author)\(request): \(refusal.code) (\(refusal.code.rawValue)). \(rule)"
    }

    /// The rule in words.
    private var rule: String {
        guard let reason else { return refusal.message }
        guard let item = reason.item else { return reason.message }
        return "The reason is \(item.name): \(reason.code). \(reason.message)"
    }
}

extension Explanation.Delivery {
    fileprivate var text: String { "\(RFC3339.text(milliseconds: time)) with \(told.token)" }
}

extension Explanation.Cause {
    /// The cause as a sentence.
    fileprivate var text: String {
        switch self {
        case .neverSaved:
            "Never saved: the log has no such version."
        case .noSuchZone:
            "No such zone."
        case .refused(let refusal):
            "Refused: \(refusal.text)"
        case .hidden(let hiding):
            "Not visible: \(hiding.text)"
        case .fetchRefused(let refusal):
            "The device's request was rejected: \(refusal.text)"
        case .committedAfterToken(let delivery):
            delivery.told.moreComing
                ? "The device has not fetched the page with this version. Its last page, of "
                    + "\(delivery.text), ends before it and says that more is coming."
                : "Committed after the device's last fetch, \(delivery.text)."
        case .neverAsked:
            "The device has never fetched changes of the zone."
        case .superseded(let sequence, let delivery):
            "Replaced before the device fetched. The device received version \(sequence) instead, "
                + "\(delivery.text)."
        case .beganAfterDeletion(let delivery):
            "The device fetched without a token after the record was deleted, \(delivery.text). "
                + "Such a fetch contains neither the record nor its deletion."
        case .delivered(let delivery, nil):
            "Delivered \(delivery?.text ?? ""), but not acknowledged: the device has not sent a "
                + "token that includes it."
        case .delivered(let delivery, let acknowledgement?):
            (delivery.map { "Delivered \($0.text), and acknowledged" } ?? "Acknowledged")
                + ": the device sent a token that includes it, "
                + "\(RFC3339.text(milliseconds: acknowledgement.time))."
        case .unknown:
            "It is unknown whether the device fetched it."
        }
    }
}

extension RecordHiding {
    /// The reason as a sentence.
    fileprivate var text: String {
        switch self {
        case .zoneGone: "the zone was deleted."
        case .role(let message): message
        case .neverShown: "it is deleted, and was never in a share of the user."
        case .notShared(let top):
            "neither it nor any of its parents is shared; the topmost one is \(top)."
        case .notInvited(let share):
            "it is under the share \(share), and the user is not a participant."
        case .notAccepted(let share):
            "it is under the share \(share), which the user has not accepted."
        case .left(let share):
            "it is under the share \(share), which the user has left, or was removed from."
        case .noPermission(let share):
            "it is under the share \(share), and the user has no permission to read."
        }
    }
}

extension Explanation.Gap {
    /// True for a period without a full journal.
    fileprivate var isPeriod: Bool {
        if case .notFull = self { true } else { false }
    }

    /// The gap as half a sentence.
    fileprivate var text: String {
        func time(_ time: Int64) -> String { RFC3339.text(milliseconds: time) }
        return switch self {
        case .noJournal: "what devices fetched, and what was rejected: there is no journal."
        case .journalBegins(let first):
            "what devices fetched, and what was rejected, before \(time(first)), when the journal "
                + "begins."
        case .notFull(let from, let end):
            "what devices fetched from \(time(from))"
                + (end.map { " to \(time($0))" } ?? " on") + "; the journal did not record it."
        case .entriesLost(let count): "\(count) entries of the journal, which could not be written."
        case .journalDamaged(let count):
            "\(count) damaged places of the journal; `tidemark log verify STORE` names them."
        case .historyPruned(let sequence):
            "versions up to event \(sequence), which compaction has dropped."
        case .noTrace(nil, _): "whether the record existed: an erasure may have removed its traces."
        case .noTrace(let sequence?, let start):
            "whether the record existed: compaction has dropped the history before event "
                + "\(sequence)\(start.map { ", \(time($0))" } ?? "")."
        case .userAssumed:
            "whose device it is. The answer assumes the owner of the database. --as names the user of "
                + "the device, and --owner the owner of the database."
        }
    }
}

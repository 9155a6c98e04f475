// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Tidemark
import TidemarkModel
import TidemarkReplay

/// The reason why a device does not have a record, as text for people.
extension Explanation {
    /// Returns the question, the answer, further facts, and the unknowns.
    func lines(_ ink: Ink) -> [String] {
        let whose = user.map { " of \($0.userRecordName)" } ?? ""
        var lines = [
            "Record \(record.description.printable), device \(device.printable)\(whose.printable)",
            version.map { "Version \($0.summary(ink))" } ?? "No version of it is in the log.",
        ]
        for (index, cause) in causes.enumerated() {
            let text = cause.text.printable
            lines.append(index == 0 ? ink.text("→ \(text)", .heading) : "  \(text)")
        }
        return lines + gaps.map { ink.text("Not known: \($0.text)", .aside) }
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
        case .refused(let refusal):
            "Refused: \(refusal.text)"
        case .hidden(let hiding):
            "Not visible: \(hiding.text)"
        case .fetchRefused(let refusal):
            "The device's request was rejected: \(refusal.text)"
        case .committedAfterToken(let delivery):
            delivery.told.moreComing
                ? "The device fetched only earlier pages: the page of \(delivery.text) ends before "
                    + "it, and says that more is coming."
                : "Committed after the device's last fetch, \(delivery.text)."
        case .neverAsked:
            "The device has never fetched changes of the zone."
        case .superseded(let sequence, let delivery):
            "Replaced before the device fetched: it got version \(sequence), \(delivery.text)."
        case .beganAfterDeletion(let delivery):
            "The device fetched everything again after the record was deleted, \(delivery.text), "
                + "so it got neither."
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
        case .left(let share): "it is under the share \(share), which the user has left."
        case .noPermission(let share):
            "it is under the share \(share), and the user has no permission to read."
        }
    }
}

extension Explanation.Gap {
    /// The gap as half a sentence.
    fileprivate var text: String {
        func time(_ time: Int64) -> String { RFC3339.text(milliseconds: time) }
        return switch self {
        case .noJournal: "there is no journal."
        case .journalBegins(let first):
            "what happened before \(time(first)), when the journal begins."
        case .notFull(let from, let end):
            "what devices fetched from \(time(from))"
                + (end.map { " to \(time($0))" } ?? " on") + "; the journal did not record it."
        case .entriesLost(let count): "\(count) entries of the journal, which could not be written."
        case .journalDamaged(let count):
            "\(count) damaged places of the journal; `tidemark log verify STORE` names them."
        case .historyPruned(let sequence):
            "versions up to event \(sequence), which compaction has dropped."
        case .noTrace: "whether the record existed before compaction dropped it without a trace."
        case .userAssumed:
            "whose device it is. The answer assumes the database's owner; --as names another user."
        }
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Tidemark
import TidemarkEvents
import TidemarkLog
import TidemarkModel

/// Combines the evidence of the log, the views and the journal.
struct Explaining {
    var explanation: Explanation
    private let evidence: Evidence
    /// The record's event after the version in question; `nil` if that is the newest.
    private var next: SequenceNumber?
    /// True if the version is missing from every page because its zone has ended.
    private var hasZoneEnded = false
    /// True if the device's user created the record on the device before the version deleted it.
    ///
    /// A delta reports such a deletion even to a device that begins without a token.
    private var isOwnDeletion = false
    /// The cause if there is no version, and nothing was dropped that might be one.
    private var absence = Explanation.Cause.neverSaved

    /// The maximum number of names in a list of zones.
    private static let zoneNameLimit = 10
    /// The maximum number of zones that are searched for the record.
    private static let searchedZoneLimit = 1_000
    /// The maximum number of records in other zones that are named.
    private static let namesakeLimit = 5

    init(_ record: RecordID, _ device: String, _ evidence: Evidence) {
        explanation = Explanation(record: record, device: device, user: evidence.user)
        self.evidence = evidence
    }

    /// Finds the version: the newest, or that as of a position.
    mutating func findVersion(
        _ store: Store,
        _ past: PastPicture,
        in database: DatabaseID,
        asOf position: SequenceNumber?
    ) async throws(SyncError) {
        let history: RecordHistory
        do throws(SyncError) {
            history = try await store.history(of: explanation.record, in: database)
        } catch {
            switch error.code {
            case .unknownItem: return
            case .zoneNotFound: absence = try noSuchZone(past, in: database)
            // It is unknown if there was such a record: compaction may have dropped it.
            case .invalidArguments: explanation.gaps.append(try noTrace(store, past))
            default: throw error
            }
            return
        }
        var iterator = history.makeAsyncIterator()
        while let entry = try await iterator.next(isolation: nil) {
            if let version = explanation.version {
                // The version is a deletion. The entries before it, in the same epoch, tell if this
                // device created the record.
                guard case .change(let change) = entry, change.zoneEpoch == version.zoneEpoch
                else { return }
                isOwnDeletion = change.isCreation(by: explanation.user, on: explanation.device)
                if isOwnDeletion { return }
                continue
            }
            switch entry {
            case .pruned(let sequence):
                explanation.gaps.append(.historyPruned(through: sequence))
                return
            case .change(let change):
                // To come under a share, and to leave it, are not versions.
                if change.happening == .enteredShare || change.happening == .leftShare { continue }
                // Also if a zone of that name is there now, which does not have the version.
                if change.happening == .zoneDeleted { hasZoneEnded = true }
                if let position, change.origin.sequence > position {
                    // Entries are newest first, so in the end this is the first change after the
                    // position.
                    next = change.origin.sequence
                    continue
                }
                explanation.version = change
                if change.happening != .deleted { return }
            }
        }
    }

    private func noSuchZone(
        _ past: PastPicture,
        in database: DatabaseID
    ) throws(SyncError) -> Explanation.Cause {
        let zones = try past.zones(of: database).filter { $0.end == nil && !$0.identity.isSystem }
        let names = zones.reversed().prefix(Self.zoneNameLimit).map(\.identity.zoneName.string)
        return .noSuchZone(known: names, count: zones.count)
    }

    private func noTrace(_ store: Store, _ past: PastPicture) throws(SyncError) -> Explanation.Gap {
        let horizon = try store.historyHorizon()
        guard horizon > .zero else { return .noTrace(historyBegins: nil, time: nil) }
        // The event at the horizon may be a deletion that was dropped as well.
        let time = try past.log.event(at: horizon)?.commit.time
        return .noTrace(historyBegins: horizon, time: time)
    }

    /// Looks for records, zones and devices that the question may have meant.
    mutating func findHints(_ past: PastPicture, in database: DatabaseID) throws(SyncError) {
        // A record that was saved after the position is the one that was meant.
        if explanation.version == nil, next == nil {
            let record = explanation.record
            let found = try past.namesakes(
                of: record.name,
                besides: ZoneIdentity(database: database, zoneName: record.zone.name),
                zoneLimit: Self.searchedZoneLimit,
                limit: Self.namesakeLimit
            )
            for place in found.places {
                let id = RecordID(recordName: record.recordName, zone: place.zone.zone)
                explanation.hints.append(
                    .recordElsewhere(id, place.zone.database, isDeleted: place.isDeleted)
                )
            }
            if let count = found.searchedCount {
                explanation.hints.append(.searchStopped(zoneCount: count))
            }
            if found.unreadableCount > 0 {
                explanation.hints.append(.zonesUnreadable(zoneCount: found.unreadableCount))
            }
        }
        let isOwn =
            explanation.version?.isSaveOrDeletion(by: explanation.user, on: explanation.device)
            ?? false
        if isOwn {
            if explanation.causes.contains(where: \.isUnfetched) {
                explanation.hints.append(.ownVersion)
            }
        } else if !evidence.hasDevice, !evidence.devices.isEmpty {
            explanation.hints.append(.deviceUnknown(known: evidence.devices))
        }
    }

    /// Adds the rejections that kept a version from being saved.
    mutating func explainRefusals(isNewest: Bool) {
        guard let version = explanation.version else {
            explanation.causes += evidence.refusals.suffix(1).map { .refused($0) }
            explanation.causes.append(isHistoryGone ? .unknown : absence)
            noteLimits(since: .min, needsFull: false)
            return
        }
        // A later successful save supersedes earlier rejections.
        guard isNewest, let last = evidence.refusals.last, last.time >= version.origin.received
        else { return }
        explanation.causes.append(.refused(last))
    }

    /// Explains the delivery of the version to the device.
    mutating func explainDelivery(_ visibility: RecordVisibility, _ reading: TokenReading) {
        guard let version = explanation.version else { return }
        if hasZoneEnded { return hide(.zoneGone) }
        let place: VersionPlace
        switch visibility {
        case .hidden(let hiding):
            return hide(hiding)
        case .whole:
            place = .whole(zone: ZoneKey(createdAt: version.zoneEpoch), version.origin.sequence)
        case .audience(var record):
            // Of a version that was replaced it counts where it was itself.
            if next != nil { record.sequence = version.origin.sequence }
            place = .audience(record)
            // The delta of a shared zone reports no deletions to clients that begin.
            isOwnDeletion = false
        }
        explain(version, at: place, reading)
    }

    /// Adds the cause that the record is hidden from the device's user.
    ///
    /// It comes before any rejection, because even a saved version would not have reached the
    /// device.
    private mutating func hide(_ hiding: RecordHiding) {
        explanation.causes.insert(.hidden(hiding), at: 0)
    }

    private mutating func explain(
        _ version: PastChange,
        at place: VersionPlace,
        _ reading: TokenReading
    ) {
        var delivery: Explanation.Delivery?
        var acknowledgement: Explanation.Acknowledgement?
        var later: Explanation.Delivery?
        var quiet: Explanation.Delivery?
        for answer in evidence.answers {
            let (time, token) = answer.arrival
            let since = reading.content(of: token)
            // The first request with a token behind the version shows that the device had received
            // it.
            if let token, let since, place.isCovered(by: since) {
                acknowledgement = acknowledgement ?? .init(time: time, token: token)
            }
            guard case .told(let told) = answer,
                let granted = reading.content(of: told.told.token)
            else {
                // When a zone disappears for the device, so do its records.
                if answer.code == .zoneNotFound || answer.code == .userDeletedZone {
                    (delivery, acknowledgement) = (nil, nil)
                }
                continue
            }
            if place.isTakenAway(from: since, to: granted) {
                (delivery, acknowledgement) = (nil, nil)
            }
            guard place.isTold(from: since, to: granted) else { continue }
            if let next, told.told.shownThrough >= next {
                // A delta has only the last version of a record, so this page has a newer one.
                later = later ?? told
            } else if version.happening == .deleted, !isOwnDeletion,
                place.sequence <= since?.quiet ?? told.told.shownThrough
            {
                // Deletions up to `quiet` are not reported to a device that began without a token.
                quiet = quiet ?? told
            } else {
                // A device that restarts receives everything again, so the last time counts.
                delivery = told
                acknowledgement = nil
            }
        }
        noteLimits(since: version.origin.received, needsFull: delivery == nil)
        if delivery != nil {
            explain(.delivered(delivery, acknowledgement))
        } else if let later, let next {
            explain(.superseded(next, later))
        } else if let quiet {
            explain(.beganAfterDeletion(quiet))
        } else if acknowledgement != nil {
            explain(.delivered(nil, acknowledgement))
        } else {
            explainSilence()
        }
    }

    /// Adds the delivery to the device, and a later rejection of its requests.
    ///
    /// The rejection comes first if it makes the device restart and drop the delivered data.
    private mutating func explain(_ cause: Explanation.Cause) {
        var causes = [cause]
        if let refusal = evidence.lastRefusal {
            let beginsAnew = refusal.refusal.code == .changeTokenExpired
            causes.insert(.fetchRefused(refusal), at: beginsAnew ? 0 : 1)
        }
        explanation.causes += causes
    }

    /// Adds the reason why the journal has no page with the version in it.
    private mutating func explainSilence() {
        let refusal = evidence.lastRefusal
        if let refusal { explanation.causes.append(.fetchRefused(refusal)) }
        if isUncertain {
            explanation.causes.append(.unknown)
            return
        }
        var last: Explanation.Delivery?
        for case .told(let told) in evidence.answers { last = told }
        if let last {
            explanation.causes.append(.committedAfterToken(last))
        } else if refusal == nil {
            explanation.causes.append(.neverAsked)
        }
    }

    /// True if a version may have been dropped.
    private var isHistoryGone: Bool {
        explanation.gaps.contains { gap in
            switch gap {
            case .historyPruned, .noTrace: true
            default: false
            }
        }
    }

    /// True if the device may have received the version without a journal entry.
    private var isUncertain: Bool {
        explanation.gaps.contains { gap in
            switch gap {
            case .noJournal, .journalBegins, .notFull, .entriesLost, .journalDamaged: true
            case .historyPruned, .noTrace, .userAssumed: false
            }
        }
    }

    /// Adds the gaps of the journal since a time.
    private mutating func noteLimits(since time: Int64, needsFull: Bool) {
        guard let first = evidence.firstTime else {
            explanation.gaps.append(.noJournal)
            return
        }
        if needsFull {
            for span in evidence.blindSpans where span.to ?? .max >= time {
                explanation.gaps.append(.notFull(from: max(span.from, time), to: span.to))
            }
        }
        if first > time { explanation.gaps.append(.journalBegins(first)) }
        if evidence.lostCount > 0 { explanation.gaps.append(.entriesLost(evidence.lostCount)) }
        if evidence.damageCount > 0 {
            explanation.gaps.append(.journalDamaged(evidence.damageCount))
        }
    }

    /// Removes duplicates.
    mutating func finish() {
        var said: Set<Explanation.Gap> = []
        explanation.gaps.removeAll { !said.insert($0).inserted }
    }
}

extension Explanation.Cause {
    /// True if the device has not fetched the version, as far as is known.
    fileprivate var isUnfetched: Bool {
        switch self {
        case .neverAsked, .committedAfterToken, .unknown: true
        default: false
        }
    }
}

extension PastChange {
    /// Returns true if the change created the record, by a user on a device.
    fileprivate func isCreation(by user: UserID?, on device: String) -> Bool {
        (happening == .created || happening == .recreated) && isMade(by: user, on: device)
    }

    /// Returns true if the change saved or deleted the record itself, by a user on a device.
    fileprivate func isSaveOrDeletion(by user: UserID?, on device: String) -> Bool {
        switch happening {
        case .created, .changed, .recreated, .deleted: isMade(by: user, on: device)
        case .touched, .enteredShare, .leftShare, .zoneDeleted: false
        }
    }

    private func isMade(by user: UserID?, on device: String) -> Bool {
        origin.user == user && origin.device.map { Name($0) } == Name(device)
    }
}

extension Evidence {
    /// The device's last request for changes, if it was rejected.
    fileprivate var lastRefusal: Explanation.Refusal? {
        if case .refused(let refusal)? = answers.last { refusal } else { nil }
    }
}

extension Evidence.Answer {
    /// The error of the rejection; `nil` if the request succeeded.
    fileprivate var code: SyncError.Code? {
        if case .refused(let refusal) = self { refusal.refusal.code } else { nil }
    }

    /// The time and the token of the device's request.
    fileprivate var arrival: (time: Int64, token: ChangeToken?) {
        switch self {
        case .told(let delivery): (delivery.time, delivery.told.since)
        case .refused(let refusal): (refusal.time, refusal.refused.since)
        }
    }
}

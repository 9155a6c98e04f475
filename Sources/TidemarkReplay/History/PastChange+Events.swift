// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Tidemark
import TidemarkEvents
import TidemarkLog
import TidemarkModel

/// What events say that happened: no reading, no state.
extension PastChange {
    /// What a record's event did, over the version that it replaced, if that is known.
    init(
        _ stored: StoredRecord,
        over old: RecordBody?,
        in zone: ZoneID,
        _ line: IncarnationLine,
        _ origin: ChangeOrigin
    ) throws(EventFormatError) {
        let event = stored.event
        self.init(
            happening: event.happening,
            origin: origin,
            zoneEpoch: SequenceNumber(rawValue: stored.zone)
        )
        isBeforeKnown = event.previousState != .live || old != nil
        guard event.state == .live else {
            fields = [FieldChange](from: old?.fields, to: nil)
            return
        }
        let body = try stored.body()
        record = Record(
            zone: zone,
            changeTag: TagContent(of: stored.sequence, in: line).tag,
            body: body
        )
        if event.isTouch { return }
        policy = event.policy
        if let old, old.recordTypeBytes != body.recordTypeBytes {
            recordTypeBefore = old.recordType
        }
        fields =
            event.isRecreation
            ? [FieldChange](beginningWith: body.fields, over: old?.fields)
            : [FieldChange](madeBy: body.fields, over: old?.fields)
        let names = (
            before: old?.parentName.map { Name($0) }, after: body.parentName.map { Name($0) }
        )
        if isBeforeKnown, names.before != names.after {
            parent = ParentMove(before: names.before?.string, after: names.after?.string)
        }
        if let place = event.audience, place.previousState != .live {
            audience = SequenceNumber(rawValue: place.key)
        }
    }

    /// What an event did that showed a record to an audience or took it away.
    init(_ audience: AudienceEvent, _ event: LogEvent, _ origin: ChangeOrigin) {
        self.init(
            happening: audience.state == .live ? .enteredShare : .leftShare,
            origin: origin,
            zoneEpoch: SequenceNumber(rawValue: event.zone)
        )
        self.audience = SequenceNumber(rawValue: audience.place.key)
    }

    /// What the end of a zone meant for a record that was in it; or that of the list of what a share
    /// shows.
    init(
        endOf event: LogEvent,
        _ isOfZone: Bool,
        _ reason: ZoneDeletionReason,
        _ origin: ChangeOrigin
    ) {
        self.init(
            happening: isOfZone ? .zoneDeleted : .leftShare,
            origin: origin,
            zoneEpoch: SequenceNumber(rawValue: event.zone)
        )
        if isOfZone {
            self.reason = reason
        } else {
            audience = SequenceNumber(rawValue: event.zone)
        }
    }
}

extension RecordEvent {
    /// What happened to the record.
    fileprivate var happening: PastChange.Happening {
        if state == .tombstone { return .deleted }
        if isTouch { return .touched }
        if isRecreation { return .recreated }
        return previousState == .live ? .changed : .created
    }
}

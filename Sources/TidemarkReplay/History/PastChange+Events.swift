// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Tidemark
import TidemarkEvents
import TidemarkLog
import TidemarkModel

/// Changes made from events alone, without reads or state.
extension PastChange {
    /// Creates the change that a record's event made to the version that it replaced, if that
    /// version is known.
    init(
        _ version: PastVersion,
        over old: RecordBody?,
        in zone: ZoneID,
        _ line: IncarnationLine,
        _ origin: ChangeOrigin
    ) throws(EventFormatError) {
        self.init(
            happening: Happening(version.happening),
            origin: origin,
            zoneEpoch: version.zone.creation
        )
        // If the replaced version is gone from the log, a missing field before says nothing.
        isBeforeKnown = version.replaced == nil || old != nil
        guard version.isThere else {
            fields = [FieldChange](from: old?.fields, to: nil)
            return
        }
        let body = try version.body()
        record = Record(
            zone: zone,
            changeTag: TagContent(of: version.sequence, in: line).tag,
            body: body
        )
        // A touch repeats the version: no field and no parent has changed.
        if version.happening == .touched { return }
        policy = version.policy
        if let old, old.recordTypeBytes != body.recordTypeBytes {
            recordTypeBefore = old.recordType
        }
        fields =
            version.happening == .recreated
            ? [FieldChange](beginningWith: body.fields, over: old?.fields)
            : [FieldChange](madeBy: body.fields, over: old?.fields)
        let names = (
            before: old?.parentName.map { Name($0) }, after: body.parentName.map { Name($0) }
        )
        if isBeforeKnown, names.before != names.after {
            parent = ParentMove(before: names.before?.string, after: names.after?.string)
        }
        if let share = version.share, share.isNew {
            audience = share.key.creation
        }
    }

    /// Creates the change of an event that showed a record to an audience, or hid it.
    init(_ showing: PastShowing, _ event: LogEvent, _ origin: ChangeOrigin) {
        self.init(
            happening: showing.isShown ? .enteredShare : .leftShare,
            origin: origin,
            zoneEpoch: event.zone.creation
        )
        self.audience = showing.key.creation
    }

    /// Creates the change that the end of a zone, or of an audience, makes to a record in
    /// it.
    init(
        endOf event: LogEvent,
        _ isOfZone: Bool,
        _ reason: ZoneDeletionReason,
        _ origin: ChangeOrigin
    ) {
        self.init(
            happening: isOfZone ? .zoneDeleted : .leftShare,
            origin: origin,
            zoneEpoch: event.zone.creation
        )
        if isOfZone {
            self.reason = reason
        } else {
            audience = event.zone.creation
        }
    }
}

extension PastChange.Happening {
    fileprivate init(_ happening: PastVersion.Happening) {
        self =
            switch happening {
            case .created: .created
            case .changed: .changed
            case .touched: .touched
            case .recreated: .recreated
            case .deleted: .deleted
            }
    }
}

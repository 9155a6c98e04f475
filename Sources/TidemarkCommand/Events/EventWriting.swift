// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Tidemark
import TidemarkEvents
import TidemarkLog
import TidemarkModel

/// Writing events: as JSON for programs, as a line of text for people.
extension [UInt8] {
    /// Appends an event and the commit that holds it as one object.
    mutating func append(json decoded: DecodedEvent, in line: IncarnationLine) {
        append(literal: "{\"sequence\":")
        append(jsonNumber: decoded.event.sequence.rawValue)
        append(literal: ",\"event\":\"")
        append(contentsOf: decoded.eventName.utf8)
        append(literal: "\"")
        if let zone = decoded.zone {
            append(json: zone)
        } else if decoded.event.zone != 0 {
            append(literal: ",\"zone\":null,\"zoneKey\":")
            append(jsonNumber: decoded.event.zone)
        }
        switch decoded.fact {
        case .recordSaved(let event, let body):
            append(event, name: body.recordName, type: body.recordType)
            if !event.isTouch {
                append(literal: ",\"policy\":\"")
                append(contentsOf: String(describing: event.policy).utf8)
                append(literal: "\"")
            }
            if event.isRecreation { append(literal: ",\"isRecreation\":true") }
            append(literal: ",\"recordChangeTag\":")
            append(jsonString: TagContent(of: decoded.event.sequence, in: line).tag.text)
            append(literal: ",\"fields\":")
            append(json: body.fields)
        case .recordDeleted(let event, let name, let type):
            append(event, name: name, type: type)
        case .zoneDeleted(let reason):
            append(literal: ",\"reason\":\"")
            append(contentsOf: String(describing: reason).utf8)
            append(literal: "\"")
        case .audienceChanged(let event):
            append(literal: ",\"recordName\":")
            append(jsonString: event.name.string)
            append(literal: ",\"recordType\":")
            append(jsonString: event.type.string)
            append(literal: ",\"audience\":")
            append(jsonNumber: event.place.key)
            append(literal: ",\"version\":")
            append(jsonNumber: event.version)
        case .tombstonesForgotten(let horizon):
            append(literal: ",\"tombstones\":")
            append(jsonNumber: horizon)
        case .compactionBegun(let run):
            append(literal: ",\"history\":")
            append(jsonNumber: run.history)
            append(literal: ",\"tombstones\":")
            append(jsonNumber: run.tombstones)
            append(literal: ",\"requests\":")
            append(jsonNumber: run.requests)
        case .zoneCreated, .requestNoted: break
        }
        append(literal: ",\"commit\":")
        append(json: decoded.event.commit, decoded.envelope)
        append(literal: "}")
    }

    /// Appends a zone's name, and which database it is in unless it is the standard one.
    mutating func append(json zone: ZoneIdentity) {
        append(literal: ",\"zone\":")
        append(jsonString: zone.zoneName.string)
        guard zone.database != .standard else { return }
        append(literal: ",\"container\":")
        append(jsonString: zone.database.container.identifier)
        append(literal: ",\"environment\":")
        append(jsonString: zone.database.environment.rawValue)
        append(literal: ",\"database\":")
        append(jsonString: zone.database.scope.name)
        append(literal: ",\"owner\":")
        append(jsonString: zone.database.owner.userRecordName)
    }

    private mutating func append(_ event: RecordEvent, name: String, type: String) {
        append(literal: ",\"recordName\":")
        append(jsonString: name)
        append(literal: ",\"recordType\":")
        append(jsonString: type)
        append(literal: ",\"replaces\":")
        append(jsonNumber: event.previous)
        switch event.held {
        case .none: break
        case .previous:
            append(literal: ",\"held\":")
            append(jsonNumber: event.previous)
        case .other(let tag):
            append(literal: ",\"held\":")
            append(jsonNumber: tag.sequence.rawValue)
        }
    }

    private mutating func append(json commit: LogCommit, _ envelope: CommitEnvelope) {
        append(literal: "{\"first\":")
        append(jsonNumber: commit.first.rawValue)
        append(literal: ",\"events\":")
        append(jsonNumber: commit.eventCount)
        append(literal: ",\"time\":")
        append(jsonNumber: commit.time)
        append(literal: ",\"received\":")
        append(jsonNumber: commit.received)
        append(member: ",\"user\":", envelope.user)
        append(member: ",\"device\":", envelope.device)
        append(member: ",\"build\":", envelope.build)
        append(member: ",\"request\":", envelope.request?.id)
        if envelope.causalParent > .zero {
            append(literal: ",\"seen\":")
            append(jsonNumber: envelope.causalParent.rawValue)
        }
        append(literal: "}")
    }

    /// Appends a member if there is a text for it.
    mutating func append(member: StaticString, _ text: String?) {
        guard let text else { return }
        append(literal: member)
        append(jsonString: text)
    }
}

extension DecodedEvent {
    /// What the log calls it.
    var eventName: String {
        switch fact {
        case .recordSaved(let event, _): event.isTouch ? "recordTouched" : "recordSaved"
        case .recordDeleted: "recordDeleted"
        case .zoneCreated: "zoneCreated"
        case .zoneDeleted: "zoneDeleted"
        case .audienceChanged(let event):
            event.state == .live ? "audienceEntered" : "audienceLeft"
        case .requestNoted: "requestNoted"
        case .tombstonesForgotten: "tombstonesForgotten"
        case .compactionBegun: "compactionBegun"
        }
    }

    /// The event as a line of text.
    var text: String {
        let place =
            zone?.zoneName.string.replacing("\0", with: "/") ?? "(created by event \(event.zone))"
        let what =
            switch fact {
            case .recordSaved(let event, let body):
                "\(event.isTouch ? "touched" : "saved  ")  \(place)/\(body.recordName)  "
                    + "\(body.recordType)\(Self.over(event))"
            case .recordDeleted(let event, let name, let type):
                "deleted  \(place)/\(name)  \(type)\(Self.over(event))"
            case .zoneCreated: "created  zone \(place)"
            case .zoneDeleted(let reason): "deleted  zone \(place) (\(reason))"
            case .audienceChanged(let event):
                "\(event.state == .live ? "shown " : "hidden")   \(place)/\(event.name.string)  "
                    + "\(event.type.string)  (audience \(event.place.key))"
            case .requestNoted: "noted    request \(envelope.request?.id ?? "")"
            case .tombstonesForgotten(let horizon):
                "forgot   deletions up to \(horizon) in zone \(place)"
            case .compactionBegun(let run):
                "began    compaction, forgetting history before \(run.history)"
            }
        let who = [envelope.user, envelope.device].compactMap(\.self).joined(separator: " on ")
        let time = RFC3339.text(milliseconds: event.commit.time)
        return "\(event.sequence)  \(time)  \(who)  \(what)".printable
    }

    private static func over(_ event: RecordEvent) -> String {
        event.previous == 0 ? "" : "  (replaces \(event.previous))"
    }
}

extension String {
    /// The text without control characters, which a terminal might obey.
    var printable: String {
        String(
            String.UnicodeScalarView(
                unicodeScalars.map { $0.properties.generalCategory == .control ? "\u{FFFD}" : $0 }
            )
        )
    }
}

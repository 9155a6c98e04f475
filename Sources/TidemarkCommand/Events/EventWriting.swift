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
            append(jsonNumber: decoded.event.zone.rawValue)
        }
        switch decoded.fact {
        case .recordSaved(let saving, let body, let link):
            append(link, name: body.recordName, type: body.recordType)
            if !saving.isTouch {
                append(literal: ",\"policy\":\"")
                append(contentsOf: String(describing: saving.policy).utf8)
                append(literal: "\"")
            }
            if saving.isRecreation { append(literal: ",\"isRecreation\":true") }
            append(literal: ",\"recordChangeTag\":")
            append(jsonString: TagContent(of: decoded.event.sequence, in: line).tag.text)
            append(literal: ",\"fields\":")
            append(json: body.fields)
        case .recordDeleted(let name, let type, let link):
            append(link, name: name, type: type)
        case .zoneDeleted(let reason):
            append(literal: ",\"reason\":\"")
            append(contentsOf: String(describing: reason).utf8)
            append(literal: "\"")
        case .audienceChanged(let audience):
            append(literal: ",\"recordName\":")
            append(jsonString: audience.name)
            append(literal: ",\"recordType\":")
            append(jsonString: audience.type)
            append(literal: ",\"audience\":")
            append(jsonNumber: audience.key.rawValue)
            append(literal: ",\"version\":")
            append(jsonNumber: audience.version.rawValue)
        case .tombstonesForgotten(let horizon):
            append(literal: ",\"tombstones\":")
            append(jsonNumber: horizon.rawValue)
        case .compactionBegun(let run):
            append(literal: ",\"history\":")
            append(jsonNumber: run.history.rawValue)
            append(literal: ",\"tombstones\":")
            append(jsonNumber: run.tombstones.rawValue)
            append(literal: ",\"requests\":")
            append(jsonNumber: run.requests.rawValue)
        case .skipped(let kind):
            append(literal: ",\"kind\":")
            append(jsonNumber: UInt64(kind))
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

    private mutating func append(_ link: DecodedEvent.Link, name: String, type: String) {
        append(literal: ",\"recordName\":")
        append(jsonString: name)
        append(literal: ",\"recordType\":")
        append(jsonString: type)
        append(literal: ",\"replaces\":")
        append(jsonNumber: link.previous.rawValue)
        if let held = link.held {
            append(literal: ",\"held\":")
            append(jsonNumber: held.rawValue)
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
        append(member: ",\"authentication\":", envelope.extras.authentication?.text)
        append(member: ",\"traceparent\":", envelope.extras.trace?.traceparent)
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
        case .recordSaved(let saving, _, _): saving.isTouch ? "recordTouched" : "recordSaved"
        case .recordDeleted: "recordDeleted"
        case .zoneCreated: "zoneCreated"
        case .zoneDeleted: "zoneDeleted"
        case .audienceChanged(let audience):
            audience.hasEntered ? "audienceEntered" : "audienceLeft"
        case .requestNoted: "requestNoted"
        case .tombstonesForgotten: "tombstonesForgotten"
        case .compactionBegun: "compactionBegun"
        case .skipped: "skipped"
        }
    }

    /// The event as a line of text.
    var text: String {
        let place =
            zone?.zoneName.string.replacing("\0", with: "/") ?? "(created by event \(event.zone))"
        let what =
            switch fact {
            case .recordSaved(let saving, let body, let link):
                "\(saving.isTouch ? "touched" : "saved  ")  \(place)/\(body.recordName)  "
                    + "\(body.recordType)\(Self.over(link))"
            case .recordDeleted(let name, let type, let link):
                "deleted  \(place)/\(name)  \(type)\(Self.over(link))"
            case .zoneCreated: "created  zone \(place)"
            case .zoneDeleted(let reason): "deleted  zone \(place) (\(reason))"
            case .audienceChanged(let audience):
                "\(audience.hasEntered ? "shown " : "hidden")   \(place)/\(audience.name)  "
                    + "\(audience.type)  (audience \(audience.key))"
            case .requestNoted: "noted    request \(envelope.request?.id ?? "")"
            case .tombstonesForgotten(let horizon):
                "forgot   deletions up to \(horizon) in zone \(place)"
            case .compactionBegun(let run):
                "began    compaction, forgetting history before \(run.history)"
            case .skipped(let kind):
                "skipped  an event of kind \(kind), which a newer version wrote"
            }
        let who = [envelope.user, envelope.device].compactMap(\.self).joined(separator: " on ")
        let time = RFC3339.text(milliseconds: event.commit.time)
        return "\(event.sequence)  \(time)  \(who)  \(what)".printable
    }

    private static func over(_ link: Link) -> String {
        link.previous == 0 ? "" : "  (replaces \(link.previous))"
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

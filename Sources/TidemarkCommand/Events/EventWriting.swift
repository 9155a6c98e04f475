// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkAdministration
import TidemarkLog
import TidemarkModel

/// Writing events: as JSON for programs, as a line of text for people.
extension [UInt8] {
    /// Appends an event and the commit that holds it as one object.
    mutating func append(json event: LoggedEvent) {
        append(literal: "{")
        append(member: "sequence", jsonNumber: event.sequence.rawValue)
        append(member: "event", jsonString: event.event)
        if let name = event.zoneName, let database = event.database {
            append(jsonZone: name, in: database)
        } else if event.zoneKey != 0 {
            // The event that created the zone cannot be read, so its key stands for its name.
            // Events of the store itself have the key 0.
            append(literal: ",\"zone\":null,\"zoneKey\":")
            append(jsonNumber: event.zoneKey)
        }
        append(member: "recordName", jsonString: event.recordName)
        append(member: "recordType", jsonString: event.recordType)
        append(member: "replaces", jsonNumber: event.replaces)
        append(member: "held", jsonNumber: event.held)
        append(member: "policy", jsonString: event.policy.map { String(describing: $0) })
        if event.isRecreation == true { append(literal: ",\"isRecreation\":true") }
        append(member: "recordChangeTag", jsonString: event.changeTag?.text)
        if let fields = event.fields {
            append(member: "fields")
            append(json: fields)
        }
        append(member: "reason", jsonString: event.reason.map { String(describing: $0) })
        append(member: "audience", jsonNumber: event.audience)
        append(member: "version", jsonNumber: event.version)
        append(member: "history", jsonNumber: event.history)
        append(member: "tombstones", jsonNumber: event.tombstones)
        append(member: "requests", jsonNumber: event.requests)
        append(member: "kind", jsonNumber: event.kind)
        append(member: "commit")
        append(json: event.commit)
        append(literal: "}")
    }

    /// Appends a zone's name, and which database it is in unless it is the standard one.
    mutating func append(jsonZone name: String, in database: DatabaseID) {
        append(member: "zone", jsonString: name)
        if database != .standard { append(jsonMembersOf: database) }
    }

    /// Appends the members that name a database.
    mutating func append(jsonMembersOf database: DatabaseID) {
        append(member: "container", jsonString: database.container.identifier)
        append(member: "environment", jsonString: database.environment.rawValue)
        append(member: "database", jsonString: database.scope.name)
        append(member: "owner", jsonString: database.owner.userRecordName)
    }

    private mutating func append(json commit: LoggedEvent.Commit) {
        append(literal: "{")
        append(member: "first", jsonNumber: commit.first.rawValue)
        append(member: "events", jsonNumber: commit.eventCount)
        append(member: "time", jsonNumber: commit.time)
        append(member: "received", jsonNumber: commit.received)
        append(member: "user", jsonString: commit.user)
        append(member: "device", jsonString: commit.device)
        append(member: "build", jsonString: commit.build)
        append(member: "request", jsonString: commit.request)
        append(member: "authentication", jsonString: commit.authentication)
        append(member: "traceparent", jsonString: commit.traceparent)
        append(member: "seen", jsonNumber: commit.seen)
        append(literal: "}")
    }
}

extension LoggedEvent {
    /// The event as a line of text.
    var text: String {
        // The name of an audience has a NUL between the zone's name and the token of the share.
        let place = zoneName?.replacing("\0", with: "/") ?? "(created by event \(zoneKey))"
        let record = "\(place)/\(recordName ?? "")  \(recordType ?? "")"
        let over = replaces.map { $0 == 0 ? "" : "  (replaces \($0))" } ?? ""
        let what =
            switch event {
            case "recordSaved": "saved    \(record)\(over)"
            case "recordTouched": "touched  \(record)\(over)"
            case "recordDeleted": "deleted  \(record)\(over)"
            case "zoneCreated": "created  zone \(place)"
            case "zoneDeleted":
                "deleted  zone \(place) (\(reason.map { String(describing: $0) } ?? ""))"
            case "audienceEntered": "shown    \(record)  (audience \(audience ?? 0))"
            case "audienceLeft": "hidden   \(record)  (audience \(audience ?? 0))"
            case "requestNoted": "noted    request \(commit.request ?? "")"
            case "tombstonesForgotten":
                "forgot   deletions up to \(tombstones ?? 0) in zone \(place)"
            case "compactionBegun":
                "began    compaction, forgetting history before \(history ?? 0)"
            default: "skipped  an event of kind \(kind ?? 0), which a newer version wrote"
            }
        let who = [commit.user, commit.device].compactMap(\.self).joined(separator: " on ")
        let time = RFC3339.text(milliseconds: commit.time)
        // Once for the whole line: each of its names may come from a client.
        return "\(sequence)  \(time)  \(who)  \(what)".printable
    }
}

extension String {
    /// The text without control characters, which a terminal might obey.
    var printable: String { withoutControls(but: []) }

    /// The same for a text of several lines.
    var printableLines: String { withoutControls(but: ["\n", "\t"]) }

    private func withoutControls(but kept: [Unicode.Scalar]) -> String {
        String(
            String.UnicodeScalarView(
                unicodeScalars.map { scalar in
                    let isControl = scalar.properties.generalCategory == .control
                    return isControl && !kept.contains(scalar) ? "\u{FFFD}" : scalar
                }
            )
        )
    }
}

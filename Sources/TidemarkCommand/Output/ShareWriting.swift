// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TidemarkModel

/// A share with its record, ready to be printed.
struct ShownShare {
    let record: Record
    let share: Share
    /// The prefix that turns the end of a link into a link.
    let urlPrefix: String

    /// `nil` if the record is not a share's.
    init?(_ record: Record, linkPrefix: String) {
        guard let share = record.share else { return nil }
        self.record = record
        self.share = share
        urlPrefix = linkPrefix
    }
}

extension OutputOptions {
    /// Prints shares, one to a line.
    func print(_ shares: [ShownShare]) throws {
        try print(
            shares,
            in: Table([
                ("share", .left), ("root", .left), ("public", .left), ("participants", .left),
                ("link", .left),
            ]),
            json: { $0.append(json: $1) },
            row: { shown in
                [
                    shown.record.recordID.description,
                    shown.share.root?.string ?? "(the zone)",
                    "\(shown.share.publicPermission)",
                    shown.share.participants.map(\.text).joined(separator: ", "),
                    shown.urlPrefix + shown.share.token,
                ]
            }
        )
    }
}

extension DatabaseService {
    /// Returns a share and its record; throws for a record that is none.
    func share(_ id: RecordID, as caller: Caller) async throws -> (record: Record, share: Share) {
        let record = try await fetchRecords(FetchRecordsRequest([id]), as: caller)[0].get()
        guard let share = record.share else {
            throw CommandError("The record \(id) is not a share. `tidemark share list` lists them.")
        }
        return (record, share)
    }
}

extension OutputOptions {
    /// Saves a share's record and prints the share.
    func save(
        _ save: RecordSave,
        to service: any DatabaseService,
        as caller: Caller,
        linkPrefix: String
    ) async throws {
        let result = try await service.modifyRecords(
            ModifyRecordsRequest(saves: [save]),
            as: caller
        )
        // The request has one save, so its result has one outcome.
        let record = try result.saves[0].get()
        try print([ShownShare(record, linkPrefix: linkPrefix)].compactMap(\.self))
    }
}

extension ShareParticipant {
    /// The participant and its permission, as text for people.
    fileprivate var text: String {
        if role == .owner { return "\(who) (owner)" }
        let pending = acceptance == .pending ? ", pending" : ""
        let administrator = role == .administrator ? ", administrator" : ""
        return "\(who) (\(permission)\(administrator)\(pending))"
    }

    /// The user, address or number; or a text for a participant that is only known by a link.
    private var who: String {
        if let user { return user.userRecordName }
        if !email.isEmpty { return email }
        return phone.isEmpty ? "anyone with the link" : phone
    }
}

extension [UInt8] {
    /// Appends a share as one line's object.
    fileprivate mutating func append(json shown: ShownShare) {
        append(literal: "{")
        append(member: "zone", jsonString: shown.record.zone.zoneName)
        if shown.record.zone.ownerName != ZoneID.currentOwner {
            append(member: "zoneOwner", jsonString: shown.record.zone.ownerName)
        }
        append(member: "share", jsonString: shown.record.recordID.recordName)
        append(member: "root", jsonString: shown.share.root?.string)
        append(member: "link", jsonString: shown.urlPrefix + shown.share.token)
        append(member: "publicPermission", jsonString: "\(shown.share.publicPermission)")
        append(member: "allowsAccessRequests", jsonBool: shown.share.allowsAccessRequests)
        append(member: "participants")
        append(jsonList: shown.share.participants) {
            $0.append(json: $1, urlPrefix: shown.urlPrefix)
        }
        append(member: "requesters")
        append(jsonList: shown.share.requesters) { $0.append(jsonString: $1.userRecordName) }
        append(member: "blocked")
        append(jsonList: shown.share.blocked) { $0.append(jsonString: $1.userRecordName) }
        append(literal: "}")
    }

    private mutating func append(json participant: ShareParticipant, urlPrefix: String) {
        append(literal: "{")
        append(member: "id", jsonString: participant.id)
        append(text: "user", participant.user?.userRecordName ?? "")
        append(text: "email", participant.email)
        append(text: "phone", participant.phone)
        append(text: "role", "\(participant.role)")
        append(text: "permission", "\(participant.permission)")
        append(text: "acceptance", "\(participant.acceptance)")
        if !participant.linkToken.isEmpty {
            append(text: "link", urlPrefix + participant.linkToken)
        }
        append(literal: "}")
    }

    private mutating func append(text member: StaticString, _ text: String) {
        if !text.isEmpty { append(member: member, jsonString: text) }
    }
}

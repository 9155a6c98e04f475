// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Tidemark
import TidemarkLog
import TidemarkModel
import TidemarkReplay

/// The answers of a store, as lines of text.
struct WholeStoreAnswers {
    let world: ErasureWorld
    private(set) var lines: [String] = []

    init(world: ErasureWorld) {
        self.world = world
    }

    private func text(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }

    /// Adds the calls in the journal; not when the store was opened and closed.
    mutating func addJournal() throws {
        var entries: [JournalEntry] = []
        try world.store.visitJournal { if $0.content.caller != nil { entries.append($0) } }
        lines += try entries.map { "journal: \(try text($0))" }
    }

    /// Adds what a client sees, from nothing.
    mutating func addRecords(_ name: String, _ client: Client) async throws {
        do {
            let zones = try await world.store.zones(as: client.caller)
            lines.append("\(name) has \(zones.map(\.zoneID.zoneName).joined(separator: ", "))")
            lines += try await world.records(of: client).map { "\(name): \($0)" }
        } catch let error as SyncError {
            lines.append("\(name): \(error.code)")
        }
    }

    /// Adds what a client gets that has been away.
    mutating func addDelta(_ name: String, _ client: Client, since token: ChangeToken) async throws
    {
        do {
            let changes = try await world.records(of: client, since: token)
            lines += changes.map { "since \(name): \($0)" }
        } catch let error as SyncError {
            lines.append("since \(name): \(error.code)")
        }
    }

    /// Adds the past: of records, and of a zone.
    mutating func addPast() async throws {
        let bob = world.bob
        let database = bob.caller.database
        for name in ["b0", "b5", "b7", "child", "with file"] {
            for try await entry in try await world.store.history(of: bob.id(name), in: database) {
                lines.append("history of \(name): \(try text(entry))")
            }
        }
        for name in ["b0", "child"] {
            let blame = try await world.store.blame(of: bob.id(name), in: database)
            lines.append("blame of \(name): \(try text(blame))")
        }
        let horizon = try world.store.historyHorizon()
        let page = try await world.store.zoneChanges(
            ZoneChangesRequest(zone: bob.zone),
            as: bob.caller,
            asOf: horizon
        )
        for change in page.changes {
            guard case .changed(let record) = change else { continue }
            lines.append("as of \(horizon): \(record.recordID) \(record.changeTag?.text ?? "")")
        }
    }

    /// Adds what is neither records nor past.
    mutating func addRest() async throws {
        let (store, bob) = (world.store, world.bob)
        lines += try store.usages().map { "usage: \(try text($0))" }
        for account in try store.accounts() {
            lines.append("account: \(account.user.userRecordName) \(account.emails)")
            lines.append("roles: \(try store.roles(of: account.user))")
        }
        lines += try store.schema().text.split(separator: "\n").map { "schema: \($0)" }
        for client in [world.zelda, world.bobAsGuest, world.zeldaAsGuest] {
            let name = client.caller.user?.userRecordName ?? ""
            let saved = try await store.subscriptions(as: client.caller).map(\.id)
            lines.append("\(name) subscribes to \(saved.joined(separator: ", "))")
            let heard = try await store.notificationChanges(
                NotificationChangesRequest(),
                as: client.caller
            )
            lines += heard.notifications.map { "\(name) hears \($0.summary)" }
        }
        let share = try await bob.shared("bobs")
        lines.append("share: \(store.url(of: share))")
        for participant in share.participants {
            lines.append(
                "participant: \(participant.user?.userRecordName ?? participant.email) "
                    + "\(participant.permission) \(participant.acceptance)"
            )
        }
        let file = try await bob.download("with file")
        lines.append("asset: \(String(decoding: file, as: UTF8.self))")
        let found = try await bob.find("word != 'plain'").sorted()
        lines.append("found: \(found.joined(separator: ", "))")
    }

    /// Adds the result of a check of every byte.
    mutating func addVerification(of path: String) throws {
        let result = try Store.verify(at: path)
        lines += result.findings.map { "finding: \($0)" }
        lines.append(
            "verified: \(result.commitCount) commits, \(result.eventCount) events, "
                + "\(result.assetCount) assets, views \(result.views.rawValue)"
        )
    }
}

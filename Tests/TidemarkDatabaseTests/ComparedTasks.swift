// Tidemark
// SPDX-License-Identifier: Apache-2.0

// The lines are as the page has them.
// swift-format-ignore-file

import Foundation
import Tidemark
import TidemarkReplay

/// The code for Tidemark in `Docs/compared.md`, compiled.
private enum ComparedWithTidemark {
    struct Chore: RecordCodable {
        static let recordType = "Chore"
        var id = RecordName.unique()
        var title: String
        var due: Date?
    }

    static func declaring(_ store: Store) async throws {
        struct Chore: RecordCodable {
            static let recordType = "Chore"
            var id = RecordName.unique()
            var title: String
            var due: Date?
        }
        let garden = try await store.database(of: "anna", device: "phone").createZone("garden")
        try await garden.save(Chore(title: "Water"))
    }

    static func others(_ garden: ZoneHandle, _ ben: Database, _ now: Date) async throws {
        var token: ChangeToken?
        var chores: [RecordID: Stored<Chore>] = [:]
        var chore = try await garden.fetch(Chore.self, "water")
        chore.title = "Water the roses"
        chore = try await garden.save(chore)
        for try await chore in garden.query(Chore.self, where: "due < \(now)", sortedBy: "due") {
            print(chore.title)
        }
        for try await change in garden.changes(since: token) {
            switch change.event {
            case .changed(let record): chores[record.recordID] = try Stored<Chore>(record)
            case .deleted(let record): chores[record.recordID] = nil
            case .reset: chores = [:]
            }
            token = change.token
        }
        let share = try await garden.share("beds", with: [.invited("ben", permission: .readWrite)])
        let shared = try await ben.accept(share.link)
        try await shared.update(Chore.self, "dig") { $0.title = "Dig deeper" }
        for field in try await garden.blame(of: "water").fields {
            print(field.name, field.origin?.device ?? "?")
        }
    }
}

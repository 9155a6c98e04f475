// Tidemark
// SPDX-License-Identifier: Apache-2.0

// The lines are as the page has them.
// swift-format-ignore-file

import Foundation
import Tidemark
import TidemarkReplay
import TidemarkTesting

/// The code of `Docs/embedding.md`, compiled: each piece is here to the letter.
private enum EmbeddingPage {
    struct Chore: RecordCodable {
        static let recordType = "Chore"
        var id = RecordName.unique()
        var title: String
        var state = State.open
        var due: Date?
        var tags: [String] = []
        var photo: AssetReference?

        enum State: String, Codable { case open, done }
    }

    static func first() async throws {
        let store = try Store.open(at: "home.tide", access: .creating)
        let anna = store.database(of: "anna", device: "phone")
        let garden = try await anna.createZone("garden")

        let tonight = Date(timeIntervalSinceNow: 3_600)
        let water = Chore(id: "water", title: "Water the roses", due: tonight)
        var saved = try await garden.save(water)
        saved.state = .done
        saved = try await garden.save(saved)
        for try await chore in garden.query(Chore.self, where: "state == \(Chore.State.done)") {
            print(chore.title, chore.record.modified.date)
        }
    }

    static func plain(_ garden: ZoneHandle) async throws {
        try await garden.save("bed-1", type: "Bed", fields: ["title": "Roses", "area": 2.5, "sunny": true])
        let bed = try await garden.fetch("bed-1")
        let area: Double = try bed.value("area")
        let title: String? = bed["title"]
        _ = (area, title)
    }

    static func batch(_ garden: ZoneHandle) async throws {
        try await garden.modify { batch in
            batch.save(Chore(title: "Prune"))
            batch.save(Chore(title: "Weed"))
            batch.delete("water")
        }
    }

    static func conflicts(_ garden: ZoneHandle, _ start: Stored<Chore>) async throws {
        var chore = start
        // Save what both changed, as long as they are different fields.
        chore = try await garden.save(chore, policy: .merge)

        // Apply a change to whatever is there, as often as it takes.
        try await garden.update(Chore.self, "water") { $0.tags.append("roses") }

        // Look at both, and at the version that they come from.
        do {
            chore = try await garden.save(chore)
        } catch let error as SyncError where error.code == .serverRecordChanged {
            guard let conflict = error.conflict else { throw error }
            var merged = try Stored<Chore>(conflict.server)
            merged.title = chore.title
            chore = try await garden.save(merged)
        }
    }

    static func find(_ garden: ZoneHandle) async throws {
        let soon = Date(timeIntervalSinceNow: 86_400)
        let due = garden.query(
            Chore.self,
            where: "state == \(Chore.State.open) AND due < \(soon)",
            sortedBy: "due", .descending("title")
        )
        for try await chore in due { print(chore.title) }
        let first = try await due.first()
        let all = try await due.all()
        _ = (first, all)
    }

    static func sync(_ garden: ZoneHandle) async throws {
        var token: ChangeToken?
        var chores: [RecordID: Stored<Chore>] = [:]
        for try await change in garden.changes(since: token) {
            switch change.event {
            case .changed(let record): chores[record.recordID] = try Stored<Chore>(record)
            case .deleted(let record): chores[record.recordID] = nil
            case .reset: chores = [:]
            }
            token = change.token
        }
    }

    static func push(_ anna: Database, _ garden: ZoneHandle) async throws {
        try await garden.subscribe()
        let news = try await anna.listen()
        for try await push in news {
            print(push.notification.zone?.zoneName ?? "somewhere", "has changed")
        }
    }

    static func assets(_ garden: ZoneHandle, _ bytes: [UInt8]) async throws {
        let image = try await garden.upload(bytes)
        try await garden.update(Chore.self, "water") { $0.photo = image }
        let photo = try await garden.download("photo", of: "water").bytes()
        _ = photo
    }

    static func share(_ store: Store, _ garden: ZoneHandle) async throws {
        let share = try await garden.share("beds", with: [.invited("ben", permission: .readWrite)])

        let ben = store.database(of: "ben", device: "tablet")
        let shared = try await ben.accept(share.link)
        try await shared.update(Chore.self, "water") { $0.state = .done }
    }

    static func past(_ garden: ZoneHandle) async throws {

        let then = try await garden.fetch(Chore.self, "water", asOf: .ago(.seconds(3600)))
        for try await entry in garden.history(of: "water") {
            guard case .change(let change) = entry else { continue }
            print(change.happening, change.origin.device ?? "?", change.fields.map(\.name))
        }
        for field in try await garden.blame(of: "water").fields {
            print(field.name, field.origin?.user?.userRecordName ?? "?")
        }
        let why = try await garden.explainAbsence(of: "water", from: "tablet")
        print(why.causes)
        _ = then
    }

    static func backup() throws {
        let report = try Store.backUp(at: "home.tide", to: "home.backup")
        _ = report
    }

    static func faulty(_ store: Store) {
        let faulty = FaultyService(store)
        let busy = faulty.database(of: "anna", device: "phone").zone("garden")
        faulty.failNext(.save, with: SyncError(.zoneBusy, "Another device writes."))
        _ = busy
    }
}

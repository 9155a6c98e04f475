// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Tidemark
import TidemarkReplay

/// The examples of documentation comments, compiled: each is here to the letter.
private enum DocumentedExamples {
    struct Chore: RecordCodable {
        static let recordType = "Chore"
        var id = RecordName.unique()
        var title: String
        var state = State.open
        var due: Date?
        var tags: [String] = []

        enum State: String, Codable { case open, done }
    }

    struct Contact: RecordCodable {
        static let recordType = "Contact"
        var id = RecordName.unique()
        @Encrypted var telephone: String?
    }

    static func ofDatabase() async throws {
        let store = try Store.open(at: "team.tide", access: .creating)
        let anna = store.database(of: "anna", device: "phone")
        let garden = try await anna.createZone("garden")
        _ = garden
    }

    static func ofStored(_ garden: ZoneHandle) async throws {
        var chore = try await garden.fetch(Chore.self, "water")
        chore.state = .done
        chore = try await garden.save(chore)
    }

    static func ofBatch(_ garden: ZoneHandle, _ chore: Chore, _ old: Stored<Chore>) async throws {
        try await garden.modify { batch in
            batch.save(chore)
            batch.delete(old)
        }
    }

    static func ofChanges(_ garden: ZoneHandle) async throws {
        var token: ChangeToken?
        var chores: [RecordID: Chore] = [:]
        for try await change in garden.changes(since: token) {
            switch change.event {
            case .changed(let record): chores[record.recordID] = try Chore(record)
            case .deleted(let record): chores[record.recordID] = nil
            case .reset: chores = [:]
            }
            token = change.token
        }
    }

    static func ofQueries(_ garden: ZoneHandle, _ state: Chore.State, _ now: Date) async throws {
        let open = garden.query(Chore.self, where: "state == \(state)", sortedBy: "due")
        for try await chore in open { print(chore.title) }
        let late = garden.query(Chore.self, where: "state == \(state) AND due < \(now)")
        _ = late
    }

    static func ofNotifications(_ anna: Database) async throws {
        let news = try await anna.listen()
        for try await push in news { print(push.notification.subscriptionID) }
    }

    static func ofSharing(_ garden: ZoneHandle, _ ben: Database) async throws {
        let share = try await garden.share("beds", with: [.invited("ben", permission: .readWrite)])
        let shared = try await ben.accept(share.link)
        _ = shared
    }

    static func ofHistory(_ garden: ZoneHandle) async throws {
        for try await entry in garden.history(of: "water") {
            if case .change(let change) = entry { print(change.origin.sequence, change.happening) }
        }
    }

    static func ofLongWork(_ store: Store) async throws {
        try await LongWork.reporting { progress in
            print("\(progress.done) of \(progress.total)")
        } during: {
            _ = try await store.compact()
        }
    }
}

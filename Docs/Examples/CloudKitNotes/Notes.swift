// Tidemark
// SPDX-License-Identifier: Apache-2.0

import CloudKit

/// The notes as one device knows them.
actor Notes {
    private struct Note: Codable {
        var text: String
        /// The record without its fields, as CloudKit archives it.
        var record: Data
    }

    private struct State: Codable {
        var token: Data?
        var notes: [String: Note] = [:]
    }

    private let database = CKContainer.default().privateCloudDatabase
    private let zoneID = CKRecordZone.ID(zoneName: "Notes")
    private let file: URL
    private var state = State()

    init(file: URL) async throws {
        self.file = file
        if let data = try? Data(contentsOf: file) {
            state = try PropertyListDecoder().decode(State.self, from: data)
        }
        _ = try await database.save(CKRecordZone(zoneID: zoneID))
    }

    /// One line for each note.
    var lines: [String] {
        state.notes.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value.text)" }
    }

    /// Returns true if there is a note of a name.
    func has(_ name: String) -> Bool { state.notes[name] != nil }

    /// Makes the server notify this device of what others do.
    func subscribe() async throws {
        let subscription = CKRecordZoneSubscription(zoneID: zoneID, subscriptionID: "notes")
        let info = CKSubscription.NotificationInfo()
        info.shouldSendContentAvailable = true
        subscription.notificationInfo = info
        _ = try await database.save(subscription)
    }

    /// Fetches what other devices did.
    func sync() async throws {
        var token = try state.token.flatMap {
            try NSKeyedUnarchiver.unarchivedObject(ofClass: CKServerChangeToken.self, from: $0)
        }
        var moreComing = true
        while moreComing {
            do {
                let page = try await database.recordZoneChanges(inZoneWith: zoneID, since: token)
                for (_, result) in page.modificationResultsByID {
                    try keep(result.get().record)
                }
                for deletion in page.deletions {
                    state.notes[deletion.recordID.recordName] = nil
                }
                (token, moreComing) = (page.changeToken, page.moreComing)
            } catch let error as CKError where error.code == .changeTokenExpired {
                (token, state.notes) = (nil, [:])
            }
        }
        state.token = try token.map {
            try NSKeyedArchiver.archivedData(withRootObject: $0, requiringSecureCoding: true)
        }
        try write()
    }

    /// Saves a note; where another device was faster, both texts are kept.
    func save(_ text: String, as name: String) async throws {
        let record = try record(name)
        record["text"] = text
        do {
            try keep(await database.save(record))
        } catch let error as CKError where error.code == .serverRecordChanged {
            guard let server = error.serverRecord, let theirs = server["text"] as? String else {
                throw error
            }
            print("\(name) was changed meanwhile: both texts are kept")
            server["text"] = "\(theirs) / \(text)"
            try keep(await database.save(server))
        }
        try write()
    }

    /// Removes a note.
    func remove(_ name: String) async throws {
        _ = try await database.deleteRecord(withID: CKRecord.ID(recordName: name, zoneID: zoneID))
        state.notes[name] = nil
        try write()
    }

    /// The record of a note in the version that this device knows, without fields.
    private func record(_ name: String) throws -> CKRecord {
        if let data = state.notes[name]?.record {
            let archive = try NSKeyedUnarchiver(forReadingFrom: data)
            archive.requiresSecureCoding = true
            if let record = CKRecord(coder: archive) { return record }
        }
        return CKRecord(
            recordType: "Note",
            recordID: CKRecord.ID(recordName: name, zoneID: zoneID)
        )
    }

    private func keep(_ record: CKRecord) throws {
        let archive = NSKeyedArchiver(requiringSecureCoding: true)
        record.encodeSystemFields(with: archive)
        archive.finishEncoding()
        let text = record["text"] as? String ?? ""
        state.notes[record.recordID.recordName] = Note(text: text, record: archive.encodedData)
    }

    private func write() throws {
        try PropertyListEncoder().encode(state).write(to: file, options: .atomic)
    }
}

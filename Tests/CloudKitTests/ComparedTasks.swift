// Tidemark
// SPDX-License-Identifier: Apache-2.0

// The lines are as the page has them.
// swift-format-ignore-file

import CloudKit
import Foundation

/// The code for CloudKit in `Docs/compared.md`, compiled.
private enum ComparedWithCloudKit {
    static func first(_ database: CKDatabase, _ now: Date) async throws {
        let zone = CKRecordZone(zoneName: "garden")
        _ = try await database.save(zone)
        let chore = CKRecord(recordType: "Chore", recordID: CKRecord.ID(zoneID: zone.zoneID))
        chore["title"] = "Water"
        try await database.save(chore)
        let found = try await database.record(for: chore.recordID)
        found["title"] = "Water the roses"
        try await database.save(found)
        let query = CKQuery(recordType: "Chore", predicate: NSPredicate(format: "due < %@", now as NSDate))
        query.sortDescriptors = [NSSortDescriptor(key: "due", ascending: true)]
        var page = try await database.records(matching: query, inZoneWith: zone.zoneID)
        while true {
            for (_, result) in page.matchResults {
                print(try result.get()["title"] as? String ?? "")
            }
            guard let cursor = page.queryCursor else { break }
            page = try await database.records(continuingMatchFrom: cursor)
        }
    }

    static func second(_ database: CKDatabase, _ zone: CKRecordZone, _ beds: CKRecord) async throws {
        var token: CKServerChangeToken?
        var chores: [CKRecord.ID: CKRecord] = [:]
        var more = true
        while more {
            let page = try await database.recordZoneChanges(inZoneWith: zone.zoneID, since: token)
            for (id, result) in page.modificationResultsByID {
                chores[id] = try result.get().record
            }
            for deletion in page.deletions {
                chores[deletion.recordID] = nil
            }
            token = page.changeToken
            more = page.moreComing
        }
        let share = CKShare(rootRecord: beds)
        let lookups = [CKUserIdentity.LookupInfo(emailAddress: "ben@example.org")]
        let fetch = CKFetchShareParticipantsOperation(userIdentityLookupInfos: lookups)
        fetch.perShareParticipantResultBlock = { _, result in
            guard let participant = try? result.get() else { return }
            participant.permission = .readWrite
            share.addParticipant(participant)
        }
        fetch.fetchShareParticipantsResultBlock = { _ in
            database.add(CKModifyRecordsOperation(recordsToSave: [beds, share]))
        }
        CKContainer.default().add(fetch)
    }
}

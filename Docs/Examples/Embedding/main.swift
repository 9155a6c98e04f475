// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Tidemark

let store = try Store.open(at: "notes.tide", access: .creating)
let note = try RecordSave(RecordID(recordName: "n1"), type: "Note", fields: Fields(["text": "Hi"]))
let saved = try await store.modifyRecords(ModifyRecordsRequest(saves: [note]), as: Caller())
let delta = try await store.zoneChanges(ZoneChangesRequest(zone: .default), as: Caller())
print("\(saved.saves.count) saved, \(delta.changes.count) in the zone; next from \(delta.token)")

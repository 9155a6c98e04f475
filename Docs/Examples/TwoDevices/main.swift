// Tidemark
// SPDX-License-Identifier: Apache-2.0

// Two devices edit the same record, one of them meets a conflict, and a third one that was away
// catches up.
//
// Usage: TwoDevicesExample STORE [ZONE]
// STORE must be there and hold a record; `tools/demo` makes one.

import Tidemark

guard CommandLine.arguments.count > 1 else {
    print("Usage: TwoDevicesExample STORE [ZONE]")
    throw CancellationError()
}
let store = try Store.open(at: CommandLine.arguments[1])
let zone = ZoneID(zoneName: CommandLine.arguments.count > 2 ? CommandLine.arguments[2] : "files")

func device(_ name: String) -> Caller {
    Caller(database: .standard, user: UserID("u-1"), device: name, build: "1.0")
}

/// Everything that changed since a token, page after page.
func catchUp(
    _ device: Caller,
    since token: ChangeToken? = nil
) async throws -> (changes: RecordChanges, token: ChangeToken) {
    var page = try await store.zoneChanges(
        ZoneChangesRequest(zone: zone, since: token),
        as: device
    )
    var changes = page.changes
    while page.moreComing {
        page = try await store.zoneChanges(
            ZoneChangesRequest(zone: zone, since: page.token),
            as: device
        )
        changes += page.changes
    }
    return (changes, page.token)
}

/// Saves some fields of a record, on condition that it is still the version the device holds.
func save(
    _ fields: KeyValuePairs<String, FieldValue?>,
    of record: Record,
    from device: Caller
) async throws -> Result<Record, SyncError> {
    let save = RecordSave(
        record.recordID,
        type: record.recordType,
        fields: try Fields(fields),
        changeTag: record.changeTag
    )
    let request = ModifyRecordsRequest(saves: [save])
    return try await store.modifyRecords(request, as: device).saves[0]
}

func describe(_ record: Record) -> String {
    var title = "no title"
    if case .string(let text) = record["title"] { title = "title \"\(text)\"" }
    let isDone = record["done"] == .int64(1)
    return "\(title), \(isDone ? "done" : "not done"), version \(record.changeTag?.text ?? "none")"
}

// All three devices know the zone; then the tablet goes away.
let known = try await catchUp(device("tablet"))
let records = known.changes.compactMap { change in
    if case .changed(let record) = change { record } else { nil }
}
guard let held = records.first else {
    print("There is no record in zone \(zone.zoneName).")
    throw CancellationError()
}
print("tablet  has \(records.count) records of zone \(zone.zoneName), and goes away")
print("both    hold \(held.recordID.recordName): \(describe(held))")

let first = try await save(["title": .string("from the phone")], of: held, from: device("phone"))
print("phone   saves a title: \(describe(try first.get()))")

// The laptop has not heard of that, and saves over the version it holds.
let second = try await save(["done": .int64(1)], of: held, from: device("laptop"))
guard case .failure(let error) = second, let conflict = error.conflict else {
    print("laptop  met no conflict, although the record had changed")
    throw CancellationError()
}
print("laptop  is refused: \(error.code) (\(error.code.rawValue))")
print("        the client's: \(describe(conflict.client))")
print("        the ancestor: \(conflict.ancestor.map(describe) ?? "not known")")
print("        the server's: \(describe(conflict.server))")

// What the laptop changed does not touch what the phone changed: it saves onto the server's version.
let merged = try await save(["done": .int64(1)], of: conflict.server, from: device("laptop"))
print("laptop  merges and saves: \(describe(try merged.get()))")

let delta = try await catchUp(device("tablet"), since: known.token)
print("tablet  is back and fetches what it missed: \(delta.changes.count) record")
for case .changed(let record) in delta.changes {
    print("        \(record.recordID.recordName): \(describe(record))")
}
try store.close()

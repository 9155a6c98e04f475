// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import Tidemark
import TidemarkLog
import TidemarkModel

@Suite struct SavingTests {
    let folder: ScratchFolder
    let anna: Client
    var store: Store { anna.store }

    init() async throws {
        folder = try ScratchFolder()
        anna = try await Client(ofNewStoreIn: folder)
    }

    @Test func `A saved record is fetched with its users and times`() async throws {
        let before = StoreEnvironment().log.now()
        let result = try await anna.modify([try anna.save("a", ["text": "one", "count": 3])])
        let saved = try result.saves[0].get()
        let record = try await anna.fetch("a")[0].get()
        #expect(record == saved)
        #expect(record.recordType == "Note")
        #expect(record["text"] == .string("one"))
        #expect(record["count"] == .int64(3))
        #expect(record.created.user == UserID("_anna"))
        #expect(record.modified.device == "phone")
        #expect(record.created.time >= before)
        try store.close()
    }

    @Test func `A save over a version that the client lacks is a conflict`() async throws {
        let first = try await anna.put("a", ["text": "one", "kept": 1])
        let second = try await anna.put("a", ["text": "two"], tag: first.changeTag)
        #expect(second["kept"] == .int64(1))
        let stale = try await anna.modify([
            try anna.save("a", ["text": "three"], tag: first.changeTag)
        ]).saves[0]
        let error = try #require(stale.error)
        #expect(error.code == .serverRecordChanged)
        let conflict = try #require(error.conflict)
        #expect(conflict.server == second)
        #expect(conflict.ancestor == first)
        #expect(conflict.client["text"] == .string("three"))
        #expect(conflict.client["kept"] == .int64(1))
        #expect(conflict.client.changeTag == first.changeTag)
        try store.close()
    }

    @Test func `Inserting over a record is a conflict that contains the record`() async throws {
        let first = try await anna.put("a", ["text": "one"])
        let error = try await anna.modify([try anna.save("a", ["text": "two"])]).saves[0].error
        #expect(error?.code == .serverRecordChanged)
        #expect(error?.conflict?.server == first)
        #expect(error?.conflict?.ancestor == nil)
        #expect(error?.conflict?.client["text"] == .string("two"))
        try store.close()
    }

    @Test func `A tag of another service is the tag of no version`() async throws {
        let first = try await anna.put("a", ["text": "one"])
        let tag = RecordChangeTag("1f")
        for policy in [SavePolicy.ifServerRecordUnchanged, .replaceIfUnchanged, .merge] {
            let stale = try anna.save("a", ["text": "two"], tag: tag, policy: policy)
            let error = try await anna.modify([stale]).saves[0].error
            #expect(error?.code == .serverRecordChanged)
            #expect(error?.conflict?.server == first)
            #expect(error?.conflict?.ancestor == nil)
            let absent = try anna.save("b", ["text": "two"], tag: tag, policy: policy)
            #expect(try await anna.modify([absent]).saves[0].error?.code == .unknownItem)
        }
        let deletion = RecordDeletion(anna.id("a"), changeTag: tag)
        let error = try await anna.modify([], delete: [deletion]).deletions[0].error
        #expect(error?.code == .serverRecordChanged)
        #expect(try await anna.fetch("a")[0].get() == first)
        try store.close()
    }

    @Test func `Other policies do not compare`() async throws {
        try await anna.modify([try anna.save("a", ["text": "one", "kept": 1])])
        let changed = try await anna.put("a", ["text": "two"], policy: .changedKeys)
        #expect(changed["text"] == .string("two"))
        #expect(changed["kept"] == .int64(1))
        let removed = try await anna.put("a", ["text": nil], policy: .allKeys)
        #expect(removed["text"] == nil)
        #expect(removed["kept"] == .int64(1))
        let replaced = try await anna.put("a", ["other": 2], policy: .replace)
        #expect(replaced["kept"] == nil)
        #expect(replaced["other"] == .int64(2))
        #expect(replaced.created == changed.created)
        try store.close()
    }

    @Test func `A save with a tag of a missing record fails`() async throws {
        let first = try await anna.put("a", ["text": "one"])
        try await anna.modify([], delete: [RecordDeletion(anna.id("a"))])
        for policy in [SavePolicy.ifServerRecordUnchanged, .changedKeys, .allKeys] {
            let error = try await anna.modify([
                try anna.save("a", ["text": "two"], tag: first.changeTag, policy: policy)
            ]).saves[0].error
            #expect(error?.code == .unknownItem)
        }
        let back = try await anna.put("a", ["text": "new"])
        #expect(back["text"] == .string("new"))
        #expect(back.changeTag != first.changeTag)
        try store.close()
    }

    @Test func `In custom zones, one failure fails valid items with its batch`() async throws {
        try await anna.modify([try anna.save("there", ["n": 1])])
        let saves = [
            try anna.save("new", ["n": 1]), try anna.save("there", ["n": 2]),
            try anna.save("other", ["n": 3]),
        ]
        let result = try await anna.modify(saves, delete: [RecordDeletion(anna.id("there2"))])
        #expect(
            result.saves.map { $0.error?.code } == [
                .batchRequestFailed, .serverRecordChanged, .batchRequestFailed,
            ]
        )
        #expect(result.deletions.map { $0.error?.code } == [.batchRequestFailed])
        #expect(try await anna.fetch("new")[0].error?.code == .unknownItem)
        let single = try await anna.modify(saves, isAtomic: false)
        #expect(single.saves.map { $0.error?.code } == [nil, .serverRecordChanged, nil])
        #expect(try await anna.fetch("new")[0].get()["n"] == .int64(1))
        try store.close()
    }

    @Test func `A default zone is created implicitly and saves each valid item`() async throws {
        var client = anna
        client.zone = .default
        #expect(try await client.fetch("x")[0].error?.code == .unknownItem)
        let empty = try await client.changes()
        #expect(empty.changes.isEmpty)
        try await client.modify([try client.save("there", ["n": 1])])
        let result = try await client.modify([
            try client.save("new", ["n": 1]), try client.save("there", ["n": 2]),
        ])
        #expect(result.saves.map { $0.error?.code } == [nil, .serverRecordChanged])
        let delta = try await client.changes(since: empty.token)
        #expect(delta.changes.count == 2)
        try store.close()
    }

    @Test func `Deleting a missing record succeeds, also twice`() async throws {
        try await anna.modify([try anna.save("a", ["n": 1])])
        for _ in 0..<2 {
            let result = try await anna.modify([], delete: [RecordDeletion(anna.id("a"))])
            #expect(try result.deletions[0].get() == anna.id("a"))
        }
        #expect(try await anna.fetch("a")[0].error?.code == .unknownItem)
        try store.close()
    }

    @Test func `A deletion with a tag deletes only that version`() async throws {
        let first = try await anna.put("a", ["n": 1])
        let second = try await anna.put("a", ["n": 2], tag: first.changeTag)
        let refused = try await anna.modify(
            [],
            delete: [RecordDeletion(anna.id("a"), changeTag: first.changeTag)]
        )
        #expect(refused.deletions[0].error?.code == .serverRecordChanged)
        #expect(refused.deletions[0].error?.conflict?.server == second)
        let done = try await anna.modify(
            [],
            delete: [RecordDeletion(anna.id("a"), changeTag: second.changeTag)]
        )
        #expect(done.deletions[0].error == nil)
        try store.close()
    }

    @Test func `A retried request gets its first result, also after a restart`() async throws {
        try await anna.modify([try anna.save("there", ["n": 1])])
        let saves = [try anna.save("a", ["n": 1]), try anna.save("there", ["n": 2])]
        let first = try await anna.modify(saves, isAtomic: false, request: "R1")
        let tag = try first.saves[0].get().changeTag
        try await anna.modify([try anna.save("a", ["n": 5], tag: tag)])
        let again = try await anna.modify(saves, isAtomic: false, request: "R1")
        #expect(again == first)
        try store.close()
        let reopened = try Store.open(at: folder.path())
        let client = Client(store: reopened)
        #expect(try await client.modify(saves, isAtomic: false, request: "R1") == first)
        let other = [try client.save("b", ["n": 1])]
        await #expect(throws: SyncError.requestIDReused("R1")) {
            try await client.modify(other, request: "R1")
        }
        var stranger = client
        stranger.caller.user = UserID("_bert")
        #expect(try await stranger.modify(other, request: "R1").saves[0].error == nil)
        try reopened.close()
    }
}

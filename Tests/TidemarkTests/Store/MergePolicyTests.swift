// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import Tidemark
import TidemarkModel

@Suite struct MergePolicyTests {
    let folder: ScratchFolder
    let anna: Client
    var store: Store { anna.store }

    init() async throws {
        folder = try ScratchFolder()
        anna = try await Client(ofNewStoreIn: folder)
    }

    private func saved(_ save: RecordSave) async throws -> Record {
        try await anna.modify([save]).saves[0].get()
    }

    @Test func `Changes to different fields are merged over any number of versions`() async throws {
        let first = try await anna.put("a", ["x": 1, "y": 1, "z": 1])
        let second = try await anna.put("a", ["x": 2], tag: first.changeTag)
        try await anna.put("a", ["z": nil], tag: second.changeTag)
        let merged = try await anna.put("a", ["y": 9], tag: first.changeTag, policy: .merge)
        #expect(merged["x"] == .int64(2))
        #expect(merged["y"] == .int64(9))
        #expect(merged["z"] == nil)
        try store.close()
    }

    @Test(
        arguments: [
            ("x", .int64(7)), ("x", nil), ("z", .int64(7)), ("z", nil), ("new", .int64(7)),
        ] as [(String, FieldValue?)]
    )
    func `A field that was set, removed or added concurrently is a conflict`(
        name: String,
        value: FieldValue?
    ) async throws {
        let first = try await anna.put("a", ["x": 1, "y": 1, "z": 1])
        let server = try await anna.put("a", ["x": 2, "z": nil, "new": 1], tag: first.changeTag)
        let error = try await anna.modify([
            try anna.save("a", ["y": 9, name: value], tag: first.changeTag, policy: .merge)
        ]).saves[0].error
        #expect(error?.code == .serverRecordChanged)
        #expect(error?.conflict?.server == server)
        #expect(error?.conflict?.ancestor == first)
        try store.close()
    }

    @Test func `A parent changed concurrently conflicts, and is otherwise merged`() async throws {
        func moved(under parent: ParentChange, _ tag: RecordChangeTag?) throws -> RecordSave {
            var save = try anna.save("a", ["y": 9], tag: tag, policy: .merge)
            save.parent = parent
            return save
        }
        for name in ["one", "two"] { _ = try await anna.put(name, ["x": 1]) }
        let first = try await anna.put("a", ["x": 1])
        try await anna.put("a", ["x": 2], tag: first.changeTag)
        let second = try await saved(try moved(under: .set("one"), first.changeTag))
        #expect(second.parentID == anna.id("one"))
        for parent in [ParentChange.set("two"), .removed] {
            let error = try await anna.modify([try moved(under: parent, first.changeTag)])
                .saves[0].error
            #expect(error?.code == .serverRecordChanged)
        }
        let other = try await anna.put("a", ["z": 9], tag: first.changeTag, policy: .merge)
        #expect(other.parentID == anna.id("one"))
        try store.close()
    }

    @Test func `Without a tag or a record, a merge compares like the default`() async throws {
        let first = try await anna.put("a", ["x": 1], policy: .merge)
        let again = try await anna.modify([try anna.save("a", ["y": 1], policy: .merge)])
        #expect(again.saves[0].error?.code == .serverRecordChanged)
        try await anna.modify([], delete: [RecordDeletion(anna.id("a"))])
        let late = try anna.save("a", ["y": 1], tag: first.changeTag, policy: .merge)
        #expect(try await anna.modify([late]).saves[0].error?.code == .unknownItem)
        // The record that comes after is another one, whatever fields it has.
        try await anna.put("a", ["other": 1])
        #expect(try await anna.modify([late]).saves[0].error?.code == .serverRecordChanged)
        try store.close()
    }

    @Test func `A tag of another record merges nothing`() async throws {
        let other = try await anna.put("b", ["x": 1])
        try await anna.put("a", ["x": 1])
        let save = try anna.save("a", ["y": 1], tag: other.changeTag, policy: .merge)
        #expect(try await anna.modify([save]).saves[0].error?.code == .serverRecordChanged)
        try store.close()
    }

    @Test func `If removals were dropped, unknown fields are a conflict`() async throws {
        let count = Fields.keptRemovalCount + 1
        var builder = FieldsBuilder()
        for index in 0..<count { try builder.set("f\(index)", 1) }
        let first = try await saved(
            RecordSave(anna.id("a"), type: "Note", fields: try builder.finish())
        )
        for index in 0..<count { try builder.set("f\(index)", nil) }
        _ = try await saved(
            RecordSave(
                anna.id("a"),
                type: "Note",
                fields: try builder.finish(),
                changeTag: first.changeTag
            )
        )
        for index in 0..<count {
            let save = try anna.save("a", ["f\(index)": 2], tag: first.changeTag, policy: .merge)
            #expect(try await anna.modify([save]).saves[0].error?.code == .serverRecordChanged)
        }
        try store.close()
    }

    @Test func `replaceIfUnchanged replaces only the version that the client has`() async throws {
        let first = try await anna.put("a", ["x": 1, "y": 1])
        let second = try await anna.put(
            "a",
            ["x": 2],
            tag: first.changeTag,
            policy: .replaceIfUnchanged
        )
        #expect(second["y"] == nil)
        for tag in [first.changeTag, nil] {
            let save = try anna.save("a", ["x": 3], tag: tag, policy: .replaceIfUnchanged)
            #expect(try await anna.modify([save]).saves[0].error?.code == .serverRecordChanged)
        }
        try store.close()
    }
}

@Suite struct DesiredKeysTests {
    @Test func `A record can be fetched in part, and saving the part removes nothing`() async throws
    {
        let folder = try ScratchFolder()
        let anna = try await Client(ofNewStoreIn: folder)
        let store = anna.store
        try await anna.modify([try anna.save("a", ["b": 1, "c": "two", "d": 3, "gone": 4])])
        try await anna.modify([try anna.save("a", ["gone": nil], policy: .changedKeys)])
        let whole = try await anna.fetch("a")[0].get()
        for keys in [[], ["c"], ["d", "b", "d"], ["absent", "c", "zz"], ["b", "c", "d", "gone"]] {
            let request = FetchRecordsRequest([anna.id("a")], desiredKeys: keys)
            let part = try await store.fetchRecords(request, as: anna.caller)[0].get()
            #expect(
                Set(part.fields.present.map(\.name))
                    == Set(keys).intersection(["b", "c", "d"])
            )
            #expect(part["c"] == (keys.contains("c") ? .string("two") : nil))
            #expect(part.changeTag == whole.changeTag)
            #expect(part.created == whole.created)
            #expect(try RecordBody(validating: part.body.bytes) == part.body)
        }
        let part = try await store.fetchRecords(
            FetchRecordsRequest([anna.id("a")], desiredKeys: ["c"]),
            as: anna.caller
        )[0].get()
        let saved = try await anna.modify([
            RecordSave(anna.id("a"), type: "Note", fields: part.fields, changeTag: part.changeTag)
        ]).saves[0].get()
        #expect(saved["b"] == .int64(1))
        #expect(saved["d"] == .int64(3))
        try store.close()
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import Tidemark
import TidemarkModel

@Suite struct ReferenceTests {
    let folder: ScratchFolder
    let anna: Client
    var store: Store { anna.store }

    init() async throws {
        folder = try ScratchFolder()
        anna = try await Client(ofNewStoreIn: folder)
    }

    private func save(
        _ name: String,
        to targets: [String] = [],
        _ action: Reference.Action = .deleteSelf,
        parent: ParentChange = .unchanged,
        policy: SavePolicy = .replace
    ) throws -> RecordSave {
        let links = targets.map { Reference(recordName: $0, action: action) }
        return RecordSave(
            anna.id(name),
            type: "Node",
            fields: try Fields(["links": .referenceList(links), "n": 1]),
            parent: parent,
            policy: policy
        )
    }

    private func codes(
        _ saves: [RecordSave],
        delete names: String...,
        isAtomic: Bool = true
    ) async throws -> [SyncError.Code?] {
        let deletions = names.map { RecordDeletion(anna.id($0)) }
        let result = try await anna.modify(saves, delete: deletions, isAtomic: isAtomic)
        return result.saves.map { $0.error?.code } + result.deletions.map { $0.error?.code }
    }

    private func live() async throws -> Set<String> {
        let changes = try await anna.changes().changes
        return Set(
            changes.compactMap { change in
                if case .changed(let record) = change { record.recordID.recordName } else { nil }
            }
        )
    }

    @Test(arguments: [false, true])
    func `A missing record refuses all saves below it, in any order`(
        _ isReversed: Bool
    ) async throws {
        var saves = try (0..<400).map { number in
            var save = try anna.save("r\(number)", ["n": 1])
            save.parent = .set(Name(number == 399 ? "missing" : "r\(number + 1)"))
            return save
        }
        if isReversed { saves.reverse() }
        let request = ModifyRecordsRequest(saves: saves, isAtomic: false)
        let result = try await store.modifyRecords(request, as: anna.caller)
        #expect(result.saves.allSatisfy { $0.error?.code == .referenceViolation })
        #expect(result.saves.contains { $0.error?.message.contains("missing") == true })
    }

    @Test func `Deleting a record deletes its dependents in the same commit`() async throws {
        #expect(
            try await codes([
                save("leaf", to: ["branch"]), save("branch", to: ["root"]), save("root"),
                save("free", to: ["root"], .none), save("both", to: ["root", "free"]),
            ]).allSatisfy { $0 == nil }
        )
        let before = try await anna.changes().token
        #expect(try await codes([], delete: "root") == [nil])
        #expect(try await live() == ["free"])
        let delta = try await anna.changes(since: before)
        #expect(delta.changes.count == 4)
        for case .deleted(let record) in delta.changes { #expect(record.recordType == "Node") }
        try store.close()
    }

    @Test func `Circular references are deleted, and a record may reference itself`() async throws {
        try await anna.modify(
            [try save("a", to: ["b"]), try save("b", to: ["c"])]
                + [try save("c", to: ["a"]), try save("self", to: ["self"])]
        )
        #expect(try await live().count == 4)
        #expect(try await codes([], delete: "b", "self") == [nil, nil])
        #expect(try await live().isEmpty)
        try store.close()
    }

    @Test func `Former dependents are not deleted`() async throws {
        try await anna.modify([try save("a"), try save("b", to: ["a"]), try save("c", to: ["a"])])
        try await anna.modify([try save("b", to: [])])
        try await anna.modify([try save("c", to: ["a"], .none)])
        #expect(try await codes([], delete: "a") == [nil])
        #expect(try await live() == ["b", "c"])
        try store.close()
    }

    @Test(arguments: [Reference.Action.deleteSelf, .validate])
    func `A target must exist, in the store or in the request`(
        action: Reference.Action
    ) async throws {
        #expect(try await codes([save("a", to: ["absent"], action)]) == [.referenceViolation])
        #expect(try await codes([save("a", to: ["absent"], .none)]) == [nil])
        #expect(try await codes([save("b", to: ["c"], action), save("c")]) == [nil, nil])
        #expect(
            try await codes([save("d", to: ["a"], action)], delete: "a")
                == [.referenceViolation, .batchRequestFailed]
        )
        // Where items stand alone, the failure of one decides about the other.
        let stale = RecordSave(anna.id("c"), type: "Node", fields: Fields())
        #expect(
            try await codes(
                [save("e", to: ["f"], action), save("f", to: ["absent"], action), stale],
                isAtomic: false
            ) == [.referenceViolation, .referenceViolation, .serverRecordChanged]
        )
        try store.close()
    }

    @Test func `A validated target cannot be deleted while the reference exists`() async throws {
        try await anna.modify([try save("a"), try save("b", to: ["a"], .validate)])
        #expect(try await codes([], delete: "a") == [.referenceViolation])
        #expect(try await codes([], delete: "a", "b") == [nil, nil])
        try await anna.modify([try save("a"), try save("b", to: ["a"], .validate)])
        #expect(try await codes([save("b")], delete: "a") == [nil, nil])
        try store.close()
    }

    @Test func `A cascade is rejected if a record outside it validates a member`() async throws {
        try await anna.modify([
            try save("root"), try save("branch", to: ["root"]),
            try save("guard", to: ["branch"], .validate),
        ])
        #expect(try await codes([], delete: "root") == [.referenceViolation])
        #expect(try await live() == ["root", "branch", "guard"])
        #expect(try await codes([], delete: "root", "guard") == [nil, nil])
        #expect(try await live().isEmpty)
        try store.close()
    }

    @Test func `A request cannot save what its cascade deletes`() async throws {
        try await anna.modify([try save("a"), try save("b", to: ["a"]), try save("c", to: ["b"])])
        #expect(
            try await codes([save("c", to: ["b"])], delete: "a")
                == [.referenceViolation, .batchRequestFailed]
        )
        #expect(
            try await codes([save("c", to: ["b"])], delete: "a", isAtomic: false)
                == [.referenceViolation, nil]
        )
        #expect(try await live().isEmpty)
        try store.close()
    }

    /// A store in which at most three delete-self references have one target.
    private func limitedStore() throws -> Store {
        var options = StoreOptions()
        options.limits.deleteSelfReferencesPerTarget = 3
        options.limits.ancestorsPerRecord = 2
        return try Store.open(at: folder.path("small.tide"), access: .creating, options: options)
    }

    @Test func `The size of a cascade has CloudKit's limit`() async throws {
        let store = try limitedStore()
        let bert = Client(store: store)
        try await bert.createZone()
        let results = try await bert.modify(
            [try save("a")] + (0..<5).map { try save("s\($0)", to: ["a"]) },
            isAtomic: false
        )
        #expect(results.saves.count { $0.error?.code == .limitExceeded } == 2)
        let again = try await bert.modify([try save("s0", to: ["a"])])
        #expect(again.saves[0].error == nil)
        let more = try await bert.modify([try save("s9", to: ["a"])])
        #expect(more.saves[0].error?.code == .limitExceeded)
        try store.close()
    }

    @Test func `Only delete-self references count for the limit of a cascade`() async throws {
        let store = try limitedStore()
        let bert = Client(store: store)
        try await bert.createZone()
        // Many bindings of another kind: the index lists those of all kinds in the order of hashes.
        let children = try (0..<60).map { try save("c\($0)", parent: .set("a")) }
        let results = try await bert.modify(
            [try save("a")] + children + (0..<3).map { try save("s\($0)", to: ["a"]) }
        )
        #expect(results.saves.allSatisfy { $0.error == nil })
        let more = try await bert.modify([try save("s9", to: ["a"])])
        #expect(more.saves[0].error?.code == .limitExceeded)
        try store.close()
        // The index has the bindings now, and newer commits change some of them.
        let reopened = try limitedStore()
        let again = Client(store: reopened)
        try await again.modify([try save("s9", to: ["a"], .validate)])
        try await again.modify([], delete: [RecordDeletion(again.id("s0"))])
        let last = try await again.modify(
            [try save("s8", to: ["a"]), try save("s7", to: ["a"])],
            isAtomic: false
        )
        #expect(last.saves.map { $0.error?.code } == [nil, .limitExceeded])
        try reopened.close()
    }

    @Test func `A reference cannot leave its zone, however the zone is written`() async throws {
        let elsewhere = ZoneID(zoneName: "Other")
        let here = ZoneID(zoneName: "Notes", ownerName: ZoneID.currentOwner)
        func link(_ zone: ZoneID) throws -> RecordSave {
            let link = Reference(recordName: "a", zone: zone, action: .deleteSelf)
            return RecordSave(
                anna.id("b"),
                type: "Node",
                fields: try Fields(["link": .reference(link)])
            )
        }
        #expect(
            try await codes([save("a"), link(elsewhere)], isAtomic: false)
                == [nil, .invalidArguments]
        )
        #expect(try await codes([link(here)]) == [nil])
        #expect(
            try await anna.fetch("b")[0].get()["link"]
                == .reference(Reference(recordName: "a", action: .deleteSelf))
        )
        #expect(try await codes([], delete: "a") == [nil])
        #expect(try await live().isEmpty)
        try store.close()
    }

    @Test func `A parent must exist, and is not deleted before its children`() async throws {
        #expect(try await codes([save("a", parent: .set("absent"))]) == [.referenceViolation])
        #expect(
            try await codes([save("b", parent: .set("a")), save("a"), save("c", parent: .set("b"))])
                == [nil, nil, nil]
        )
        #expect(try await anna.fetch("b")[0].get().body.parentName == "a")
        #expect(try await codes([save("a", parent: .set("a"))]) == [.invalidArguments])
        #expect(try await codes([save("a", parent: .set("c"))]) == [.invalidArguments])
        #expect(
            try await codes([save("x", parent: .set("y")), save("y", parent: .set("x"))])
                == [.invalidArguments, .invalidArguments]
        )
        #expect(try await codes([], delete: "a") == [.referenceViolation])
        #expect(
            try await codes([], delete: "a", "b") == [.referenceViolation, .referenceViolation]
        )
        // A save that says nothing about the parent keeps it; one that removes it frees the parent.
        #expect(
            try await codes([save("b")], delete: "a") == [.referenceViolation, .referenceViolation]
        )
        #expect(try await codes([save("b", parent: .removed)], delete: "a") == [nil, nil])
        #expect(try await codes([save("d", parent: .set("c"))]) == [nil])
        #expect(try await codes([], delete: "b", "c", "d") == [nil, nil, nil])
        #expect(try await live().isEmpty)
        try store.close()
    }

    @Test func `A record has as many ancestors as the limit allows`() async throws {
        let store = try limitedStore()
        let bert = Client(store: store)
        try await bert.createZone()
        let line = [
            try save("a"), try save("b", parent: .set("a")), try save("c", parent: .set("b")),
        ]
        #expect(try await bert.modify(line).saves.map { $0.error?.code } == [nil, nil, nil])
        let more = try await bert.modify([try save("d", parent: .set("c"))])
        #expect(more.saves.map { $0.error?.code } == [.limitExceeded])
        try store.close()
    }

    @Test func `References survive checkpoints, restarts, and lost views`() async throws {
        try await anna.modify([
            try save("a"), try save("b", to: ["a"]), try save("c", to: ["b"]),
            try save("kept", parent: .set("d")), try save("d"),
        ])
        try await anna.modify([try save("b", to: ["a"]), try save("c", to: ["b", "a"])])
        try store.close()
        for losesViews in [false, true] {
            if losesViews {
                try FileManager.default.removeItem(atPath: folder.path() + "/views")
            }
            let reopened = try Store.open(at: folder.path(), access: .writing)
            let client = Client(store: reopened)
            let refused = try await client.modify([], delete: [RecordDeletion(client.id("d"))])
            #expect(refused.deletions[0].error?.code == .referenceViolation)
            try reopened.close()
        }
        let reopened = try Store.open(at: folder.path(), access: .writing)
        let client = Client(store: reopened)
        try await client.modify([], delete: [RecordDeletion(client.id("a"))])
        let records = try await client.client(on: "laptop").changes().changes
        #expect(records.count == 2)
        try reopened.close()
    }

    @Test func `An export preserves parents and references`() async throws {
        try await anna.modify([
            try save("a"), try save("b", to: ["a"]), try save("kept", parent: .set("d")),
            try save("d"),
        ])
        try await anna.modify([try save("b", to: ["a", "d"])])
        let copy = try Store.open(at: folder.path("copy.tide"), access: .creating)
        let lines = try store.commits()
        try await copy.importLines(lines)
        let bert = Client(store: copy)
        let refused = try await bert.modify([], delete: [RecordDeletion(bert.id("d"))])
        #expect(refused.deletions[0].error?.code == .referenceViolation)
        try await bert.modify([], delete: [RecordDeletion(bert.id("a"))])
        #expect(try await bert.fetch("b")[0].error?.code == .unknownItem)
        #expect(try await bert.fetch("kept")[0].get().body.parentName == "d")
        try copy.close()
        try store.close()
    }

    @Test func `A child and its parent's deletion cannot both succeed`() async throws {
        let names = (0..<20).map { "p\($0)" }
        try await anna.modify(try names.map { try save($0) })
        let anna = anna
        try await withThrowingTaskGroup(of: Void.self) { group in
            for name in names {
                let child = try save("child of \(name)", parent: .set(Name(name)))
                group.addTask { try await anna.modify([child]) }
                let parent = RecordDeletion(anna.id(name))
                group.addTask { try await anna.modify([], delete: [parent]) }
            }
            try await group.waitForAll()
        }
        let live = try await live()
        for name in names {
            #expect(live.contains(name) == live.contains("child of \(name)"))
        }
        try store.close()
    }
}

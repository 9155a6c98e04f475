// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import Tidemark
import TidemarkLog
import TidemarkModel

/// Stores made from moments of another one.
@Suite struct ForkedStoreTests {
    /// A store with five versions of a record, and its delta token after each.
    private final class Lived {
        let folder: ScratchFolder
        let path: String
        let client: Client
        var tokens: [ChangeToken] = []
        var positions: [SequenceNumber] = []

        init() async throws {
            folder = try ScratchFolder()
            path = folder.path()
            client = Client(store: try Store.open(at: path, access: .creating))
            try await client.createZone()
            for number in 1...5 as ClosedRange<Int64> {
                try await client.modify([
                    try client.save("r", ["n": .int64(number)], policy: .changedKeys),
                    try client.save("s\(number)", ["n": .int64(number)]),
                ])
                tokens.append(try await client.changes().token)
                positions.append(client.store.lastSequence)
            }
        }

        func fork(
            _ name: String,
            through position: SequenceNumber? = nil
        ) throws -> (report: ForkReport, client: Client, rebuildCount: Int) {
            let path = folder.path(name)
            let report = try Store.fork(from: self.path, to: path, through: position)
            var rebuildCount = 0
            let store = try Store.open(at: path) { _ in rebuildCount += 1 }
            return (report, Client(store: store), rebuildCount)
        }
    }

    @Test func `Tokens up to the point are valid in both stores, later ones expire in the fork`()
        async throws
    {
        let lived = try await Lived()
        // In the middle of the fourth commit: all of it stays behind.
        let point = SequenceNumber(rawValue: lived.positions[3].rawValue - 1)
        let (report, fork, _) = try lived.fork("fork.tide", through: point)
        #expect(report.lastSequence == lived.positions[2])
        #expect(try await fork.fetch("r")[0].get()["n"] == .int64(3))
        for number in 11...16 as ClosedRange<Int64> {
            try await fork.modify([
                try fork.save("r", ["n": .int64(number)], policy: .changedKeys)
            ])
        }
        // As many positions have been taken anew as the original has behind the point.
        #expect(fork.store.lastSequence >= lived.positions[4])
        for (number, token) in zip(1..., lived.tokens) {
            #expect(
                try await lived.client.changes(since: token).changes.count
                    == (number == 5 ? 0 : 6 - number)
            )
            if number <= 3 {
                #expect(try await fork.changes(since: token).changes.count == 4 - number)
            } else {
                #expect(
                    await refusal { try await fork.changes(since: token) } == .changeTokenExpired
                )
            }
        }
        let theirs = try await fork.changes().token
        #expect(
            await refusal { try await lived.client.changes(since: theirs) } == .changeTokenExpired
        )
        #expect(try await lived.client.fetch("r")[0].get()["n"] == .int64(5))
        try fork.store.close()
        try lived.client.store.close()
    }

    @Test func `A fork at the end copies the views, also from an open store`() async throws {
        let lived = try await Lived()
        let open = try lived.fork("open.tide")
        #expect(open.report.lastSequence == lived.positions[4])
        #expect(try await open.client.changes(since: lived.tokens[4]).changes.isEmpty)
        try open.client.store.close()
        try lived.client.store.close()
        let closed = try lived.fork("closed.tide")
        #expect(closed.report.hasViews)
        #expect(closed.rebuildCount == 0)
        #expect(try await closed.client.changes().changes.count == 6)
        try closed.client.store.close()
        let before = try lived.fork("before.tide", through: lived.positions[1])
        #expect(!before.report.hasViews)
        #expect(try await before.client.changes().changes.count == 3)
        try before.client.store.close()
    }

    @Test func `A fork above the history horizon lists its gaps; below it none is made`()
        async throws
    {
        let lived = try await Lived()
        let client = lived.client
        try await client.modify([], delete: [RecordDeletion(client.id("s1"))])
        let beforeHorizon = try await client.changes().token
        try await client.modify([], delete: [RecordDeletion(client.id("s2"))])
        // What is kept: everything after the deletions.
        let report = try await client.store.compact(.keepingNothing)
        let horizon = report.historyHorizon
        let compacted = client.store.lastSequence
        try await client.modify([try client.save("t", ["n": .int64(6)])])
        for position in [lived.positions[2], lived.positions[4]] {
            let path = lived.folder.path("pruned.tide")
            let error = #expect(throws: LogError.self) {
                try Store.fork(from: lived.path, to: path, through: position)
            }
            #expect(error?.code == .pruned)
            #expect(error?.message.hasPrefix("History pruned") == true)
        }
        // Between the horizon and the event that says what was forgotten, and behind that.
        for (name, point) in [("horizon.tide", horizon), ("compacted.tide", compacted)] {
            let (report, fork, _) = try lived.fork(name, through: point)
            #expect(report.lastSequence == point)
            let changes = try await fork.changes().changes
            #expect(changes.count == 4)
            let error = await #expect(throws: SyncError.self) {
                try await fork.changes(since: beforeHorizon)
            }
            #expect(error?.code == .changeTokenExpired)
            try fork.store.close()
            let restored = lived.folder.path("restored-" + name)
            let copy = try Store.restore(from: lived.path, to: restored, through: point)
            #expect(copy.lastSequence == point)
        }
        try client.store.close()
    }

    @Test func `Compaction and deletion in one store do not affect the other`() async throws {
        let lived = try await Lived()
        let client = lived.client
        let bytes = Array("the same bytes in both".utf8)
        let asset = try await client.upload(bytes)
        try await client.modify([try client.save("a", ["file": .asset(asset)])])
        try client.store.close()
        let fork = lived.folder.path("fork.tide")
        let report = try Store.fork(from: lived.path, to: fork)
        #expect(report.assetCount == 1)
        #expect(report.sharedAssetCount == 1)
        for (changed, other) in [(lived.path, fork), (fork, lived.path)] {
            let before = try Store.open(at: other, access: .reading)
            let expected = try await Client(store: before).changes().changes
            try before.close()
            let store = Client(store: try Store.open(at: changed))
            try await store.modify([], delete: ["s1", "r"].map { RecordDeletion(store.id($0)) })
            _ = try await store.store.compact(.keepingNothing)
            try store.store.close()
            let after = Client(store: try Store.open(at: other, access: .reading))
            #expect(try await after.changes().changes == expected)
            #expect(try await after.download("a") == bytes)
            try after.store.close()
        }
    }
}

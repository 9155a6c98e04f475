// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import Tidemark
import TidemarkLog
import TidemarkModel

/// What devices are told by a store that was put back to an earlier point.
@Suite struct RestoredStoreTests {
    /// A store with five versions of a record, its delta token after each, and a backup of it that
    /// was made while it was open.
    private struct Lived {
        let folder = try? ScratchFolder()
        var tokens: [ChangeToken] = []
        var positions: [UInt64] = []
        var path = ""
        var backup = ""

        init() async throws {
            let folder = try #require(folder)
            path = folder.path()
            backup = folder.path("backup.tide")
            let client = Client(store: try Store.open(at: path, access: .creating))
            try await client.createZone()
            for number in 1...5 as ClosedRange<Int64> {
                try await client.modify([
                    try client.save("r", ["n": .int64(number)], policy: .changedKeys),
                    try client.save("s\(number)", ["n": .int64(number)]),
                ])
                tokens.append(try await client.changes().token)
                positions.append(client.store.lastSequence.rawValue)
            }
            while try Store.backUp(at: path, to: backup).lastSequence < client.store.lastSequence {
                try await Task.sleep(for: .milliseconds(5))
            }
            try client.store.close()
        }
    }

    @Test func `Tokens up to the cut stay valid, and later ones are expired`() async throws {
        let lived = try await Lived()
        let path = try #require(lived.folder).path("restored.tide")
        // In the middle of the fourth commit: all of it goes.
        let report = try Store.restore(
            from: lived.backup,
            to: path,
            through: SequenceNumber(rawValue: lived.positions[3] - 1)
        )
        #expect(report.lastSequence.rawValue == lived.positions[2])
        let client = Client(store: try Store.open(at: path))
        #expect(try await client.fetch("r")[0].get()["n"] == .int64(3))
        #expect(try await client.fetch("s4")[0].error?.code == .unknownItem)
        // More is written than was cut, so the positions of what was cut are taken again.
        for number in 11...14 as ClosedRange<Int64> {
            try await client.modify([
                try client.save("r", ["n": .int64(number)], policy: .changedKeys)
            ])
        }
        #expect(client.store.lastSequence.rawValue > lived.positions[4] - 1)
        for (number, token) in zip(1..., lived.tokens) {
            if number <= 3 {
                let changes = try await client.changes(since: token).changes
                #expect(changes.count == 4 - number, "token \(number)")
            } else {
                #expect(
                    await refusal { try await client.changes(since: token) } == .changeTokenExpired
                )
            }
        }
        try client.store.close()
    }

    @Test func `A restored store has the same identity, and older tokens stay valid`()
        async throws
    {
        let lived = try await Lived()
        let path = try #require(lived.folder).path("restored.tide")
        let report = try Store.restore(from: lived.backup, to: path)
        #expect(report.lastSequence.rawValue == lived.positions[4])
        let client = Client(store: try Store.open(at: path))
        let lost = Client(store: try Store.open(at: lived.path))
        #expect(client.store.id == lost.store.id)
        #expect(try await client.changes(since: lived.tokens[4]).changes.isEmpty)
        #expect(try await client.changes().changes.count == 6)
        // What the lost store told a device after the backup was made.
        try await lost.modify([try lost.save("t", ["n": .int64(1)])])
        let token = try await lost.changes().token
        try await client.modify([try client.save("u", ["n": .int64(1)])])
        #expect(await refusal { try await client.changes(since: token) } == .changeTokenExpired)
        try client.store.close()
        try lost.store.close()
        #expect(throws: LogError.self) { try Store.restore(from: lived.backup, to: path) }
    }

    /// The zone that the token is of gets the key of another one, the same key, or one that no zone has.
    @Test(arguments: [(0, 1), (0, 0), (1, 0)])
    func `A token of a zone created after the cut is expired, even if its key is reused`(
        before: Int,
        after: Int
    ) async throws {
        let lived = try await Lived()
        func makeZone(at path: String, after count: Int) async throws -> Client {
            let store = try Store.open(at: path)
            for number in 0..<count {
                let other = ZoneID(zoneName: "other \(number)")
                try await Client(store: store, zone: other).createZone()
            }
            let client = Client(store: store, zone: ZoneID(zoneName: "late"))
            try await client.createZone()
            return client
        }
        let late = try await makeZone(at: lived.path, after: before)
        try await late.modify([try late.save("r", ["n": 1])])
        let token = try await late.changes().token
        try late.store.close()
        let path = try #require(lived.folder).path("restored.tide")
        _ = try Store.restore(from: lived.backup, to: path)
        let client = try await makeZone(at: path, after: after)
        let error = await #expect(throws: SyncError.self) {
            try await client.changes(since: token)
        }
        #expect(error?.code == .changeTokenExpired)
        #expect(error?.message.contains("lost when the store was restored") == true)
        try client.store.close()
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import SimulatedDisk
import TestSupport
import Testing
import Tidemark
import TidemarkLog
import TidemarkModel
import TidemarkViews

/// The machine stops at every call of a compaction, a call fails, or the disk is full.
@Suite struct CompactionCrashTests {
    private let zone = ZoneID(zoneName: "z")

    private func open(
        _ files: SimulatedFileSystem,
        _ index: MemoryViewIndex,
        _ access: StoreAccess = .writing
    ) throws(LogError) -> Store {
        var options = StoreOptions()
        options.checkpointEventCount = 8
        options.segmentByteCount = 4 << 10
        return try Store.open(
            at: "s",
            access: access,
            options: options,
            environment: StoreEnvironment(files, index)
        )
    }

    /// What a device knows that has fetched at some moment: its token, and how many records and
    /// deletions a fetch from there has to tell.
    private struct Fetched {
        var token: ChangeToken
        var names: Set<String>
    }

    /// Makes a store with versions, deletions and records that begin anew, and remembers what devices
    /// hold.
    private func prepare(
        _ files: SimulatedFileSystem,
        _ index: MemoryViewIndex
    ) async throws -> (held: [Fetched], records: [String: Int64]) {
        let store = try open(files, index, .creating)
        let client = Client(store: store, zone: zone)
        try await client.createZone()
        var held: [Fetched] = []
        var records: [String: Int64] = [:]
        var random = SeededGenerator(seed: 3)
        for number in 1...24 {
            let name = "r\(number % 5)"
            if number % 7 == 0 {
                if records.removeValue(forKey: name) != nil {
                    try await client.modify([], delete: [RecordDeletion(client.id(name))])
                }
            } else {
                let noise = (0..<600).map { _ in UInt8.random(in: 0...255, using: &random) }
                let save = try client.save(
                    name,
                    ["n": .int64(Int64(number)), "noise": .bytes(noise)],
                    policy: .changedKeys
                )
                try await client.modify([save])
                records[name] = Int64(number)
            }
            if number % 5 == 0 {
                held.append(
                    Fetched(token: try await client.changes().token, names: Set(records.keys))
                )
            }
        }
        try store.close()
        return (held, records)
    }

    /// What is wrong with a store after a stop, if anything.
    private func violation(
        _ files: SimulatedFileSystem,
        _ index: MemoryViewIndex,
        _ held: [Fetched],
        _ records: [String: Int64],
        goingOn: Bool = true
    ) async throws -> String? {
        let store = try open(files, index)
        let client = Client(store: store, zone: zone)
        var found: [String: Int64] = [:]
        for case .changed(let record) in try await client.changes().changes {
            if case .int64(let number) = record["n"] {
                found[record.recordID.recordName] = number
            }
        }
        if found != records { return "found \(found), not \(records)" }
        for device in held {
            var names = device.names
            do {
                for change in try await client.changes(since: device.token).changes {
                    switch change {
                    case .changed(let record): names.insert(record.recordID.recordName)
                    case .deleted(let deleted): names.remove(deleted.recordID.recordName)
                    }
                }
            } catch let error as SyncError {
                if error.code == .changeTokenExpired { continue }
                throw error
            }
            if names != Set(records.keys) { return "a device has \(names)" }
        }
        if goingOn {
            _ = try await store.compact(.keepingNothing)
            try store.close()
            // Also from nothing but the log.
            return try await violation(files, MemoryViewIndex(), held, records, goingOn: false)
        }
        try store.close()
        let reader = try LogReader("s", fileSystem: files)
        return try reader.verify().damage.first?.message
    }

    @Test func `A crash at any call loses only what compaction may drop`() async throws {
        let files = SimulatedFileSystem(keepsTrace: false)
        let index = MemoryViewIndex()
        let (held, records) = try await prepare(files, index)
        let whole = files.crash(.keepingEverything)
        let store = try open(whole, MemoryViewIndex())
        let first = whole.callCount
        let report = try await store.compact(.keepingNothing)
        #expect(report.droppedCount > 5)
        #expect(report.segmentCount > 2)
        try store.close()
        let callCount = whole.callCount
        #expect(callCount - first > 30)
        for call in first + 1...callCount {
            let outcomes: [CrashOutcome] = [
                .seeded(UInt64(call)), .losingEverythingUnsynced, .keepingEverything,
                .processKilled,
            ]
            for outcome in runsLongTests ? outcomes[...] : [outcomes[0], outcomes[1 + call % 3]] {
                let files = files.crash(.keepingEverything)
                // The views survive half of the crashes, and are lost in the others.
                let index = MemoryViewIndex()
                let store = try open(files, index)
                files.stop(atCall: call)
                _ = try? await store.compact(.keepingNothing)
                _ = try? store.close()
                let violation = try await violation(
                    files.crash(outcome),
                    call % 2 == 0 ? index : MemoryViewIndex(),
                    held,
                    records
                )
                #expect(violation == nil, "call \(call), \(outcome)")
            }
        }
    }

    @Test func `A failed call leaves a store that works or can be reopened`() async throws {
        let files = SimulatedFileSystem(keepsTrace: false)
        let (held, records) = try await prepare(files, MemoryViewIndex())
        let whole = files.crash(.keepingEverything)
        let store = try open(whole, MemoryViewIndex())
        let first = whole.callCount
        _ = try await store.compact(.keepingNothing)
        let callCount = whole.callCount
        for call in first + 1...callCount {
            for errorNumber in runsLongTests || call % 3 == 0 ? [Int32(5), 28] : [Int32(28)] {
                let files = files.crash(.keepingEverything)
                let index = MemoryViewIndex()
                let store = try open(files, index)
                files.failCall(call, with: errorNumber)
                _ = try? await store.compact(.keepingNothing)
                files.clearFaults()
                let client = Client(store: store, zone: zone).client(on: "laptop")
                let count = try await client.changes().changes.count
                #expect(count == records.count, "call \(call), error \(errorNumber)")
                try? store.close()
                let violation = try await violation(files, index, held, records)
                #expect(violation == nil, "call \(call), error \(errorNumber)")
            }
        }
    }

    private func used(_ files: SimulatedFileSystem) throws -> Int {
        try ["s", "s/segments"].reduce(0) { sum, folder in
            try files.list(folder).reduce(sum) { sum, name in
                sum + Int(try files.status(of: folder + "/" + name)?.byteCount ?? 0)
            }
        }
    }

    @Test func `A full disk can be compacted and then has free space`() async throws {
        let files = SimulatedFileSystem(keepsTrace: false)
        var (held, records) = try await prepare(files, MemoryViewIndex())
        let index = MemoryViewIndex()
        let store = try open(files, index)
        let client = Client(store: store, zone: zone)
        files.setCapacity(try used(files))
        // Until not even what was prepared has room.
        var number: Int64 = 100
        var refusal: SyncError?
        while refusal == nil {
            number += 1
            let save = try client.save(
                "r1",
                ["n": .int64(number), "noise": .bytes([UInt8](repeating: 0, count: 500))],
                policy: .changedKeys
            )
            do {
                _ = try await client.modify([save]).saves[0].get()
                records["r1"] = number
            } catch let error as SyncError {
                refusal = error
            }
        }
        #expect(refusal?.code == .quotaExceeded)
        let report = try await store.compact(.keepingNothing)
        #expect(report.newByteCount < report.oldByteCount)
        let save = try client.save("r1", ["n": .int64(number)], policy: .changedKeys)
        _ = try await client.modify([save]).saves[0].get()
        records["r1"] = number
        // What was used is kept back again.
        #expect(try files.status(of: "s/RESERVE")?.byteCount ?? 0 > 0)
        try store.close()
        held = held.map { Fetched(token: $0.token, names: $0.names.union(["r1"])) }
        #expect(try await violation(files, index, held, records) == nil)
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import SimulatedDisk
import Testing
import TidemarkLog
import TidemarkModel
import TidemarkViews

@testable import Tidemark

/// The machine stops at every call of a backup, or a call fails: of the log and of the assets that it
/// names.
@Suite struct BackupCrashTests {
    /// The bytes of the assets that records hold, by record name.
    private typealias Held = [String: [UInt8]]

    private static let backup = "b"

    private static func bytes(_ name: String) -> [UInt8] {
        Array(name.utf8) + Array(repeating: 7, count: 700)
    }

    private static func attach(_ names: [String], _ scratch: ScratchAssets) async throws -> Held {
        var held: Held = [:]
        for name in names {
            let client = scratch.client()
            let asset = try await client.upload(bytes(name))
            _ = try await client.attach(asset, to: name).get()
            held[name] = bytes(name)
        }
        return held
    }

    @discardableResult
    private static func backUp(_ disk: SimulatedFileSystem) throws(LogError) -> BackupReport {
        var environment = StoreEnvironment()
        environment.log.fileSystem = disk
        environment.log.writesInline = true
        return try Store.backUp(at: "s", to: backup, environment: environment)
    }

    /// A closed store on a disk, a backup of its beginning there, and what each holds.
    private static func prepare() async throws -> (SimulatedFileSystem, old: Held, new: Held) {
        let disk = SimulatedFileSystem(keepsTrace: false)
        let first = try ScratchAssets(disk)
        let old = try await attach(["a", "b"], first)
        try first.store.close()
        try backUp(disk)
        let second = try ScratchAssets(disk)
        let added = try await attach(["c", "d"], second)
        try second.store.close()
        return (disk.crash(.keepingEverything), old, old.merging(added) { $1 })
    }

    /// What a backup shows after a stop: all of one moment, assets included.
    private static func check(_ disk: SimulatedFileSystem, oneOf states: [Held]) async throws {
        var environment = StoreEnvironment()
        environment.log.fileSystem = disk
        environment.openIndex = { _, _, _ in MemoryViewIndex() }
        let store = try Store.open(at: backup, access: .reading, environment: environment)
        let client = Client(store: store, zone: .default)
        var found: Held = [:]
        for case .changed(let record) in try await client.changes().changes {
            let name = record.recordID.recordName
            found[name] = try await client.download(name)
        }
        #expect(states.contains(found), "\(found.keys.sorted())")
        try store.close()
    }

    @Test func `An interrupted backup has every asset that its records reference`() async throws {
        let (whole, old, new) = try await Self.prepare()
        let image = whole.crash(.keepingEverything)
        let start = whole.callCount
        try Self.backUp(whole)
        let callCount = whole.callCount - start
        try await Self.check(whole, oneOf: [new])
        #expect(callCount > 40)
        var stoppedCount = 0
        for call in 1...callCount {
            let disk = image.crash(.keepingEverything)
            disk.stop(atCall: disk.callCount + call)
            // Nobody asks whether the last calls, which tidy up, came about.
            if (try? Self.backUp(disk)) == nil { stoppedCount += 1 }
            for outcome in CrashOutcome.all(afterStopAt: call) {
                let left = disk.crash(outcome)
                try await Self.check(left, oneOf: [old, new])
                // The next one comes to its end, and what it says survives whatever comes then.
                try Self.backUp(left)
                try await Self.check(left.crash(.losingEverythingUnsynced), oneOf: [new])
            }
        }
        #expect(stoppedCount > callCount - 8)
    }

    @Test func `A failed call leaves the previous backup or the new one`() async throws {
        let (whole, old, new) = try await Self.prepare()
        let image = whole.crash(.keepingEverything)
        let start = whole.callCount
        try Self.backUp(whole)
        var checkedCount = 0
        for call in 1...whole.callCount - start {
            let disk = image.crash(.keepingEverything)
            disk.failCall(disk.callCount + call, with: call % 2 == 0 ? 5 : 28)
            let report = try? Self.backUp(disk)
            disk.clearFaults()
            // Assets that cannot be read are told, and are not there.
            if report?.damage.isEmpty ?? true {
                try await Self.check(disk, oneOf: [old, new])
                checkedCount += 1
            }
            try Self.backUp(disk)
            try await Self.check(disk, oneOf: [new])
        }
        #expect(checkedCount > (whole.callCount - start) / 2)
    }
}

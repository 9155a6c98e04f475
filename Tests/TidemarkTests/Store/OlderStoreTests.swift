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

/// A log whose files were replaced by older copies: the views tell how far it went.
@Suite struct OlderStoreTests {
    let folder: ScratchFolder
    private let files = FileManager.default

    init() throws {
        folder = try ScratchFolder()
    }

    /// Which files of the log come back as they were before the last two saves.
    enum Files: CaseIterable {
        case activeSegment, all

        /// What becomes of the store.
        func bringBack(from older: String, to store: String) throws {
            let files = FileManager.default
            if self == .activeSegment {
                let name = try #require(
                    try files.contentsOfDirectory(atPath: older + "/segments").sorted().last {
                        $0.hasSuffix(".seg")
                    }
                )
                try files.removeItem(atPath: "\(store)/segments/\(name)")
                return try files.copyItem(
                    atPath: "\(older)/segments/\(name)",
                    toPath: "\(store)/segments/\(name)"
                )
            }
            for name in try files.contentsOfDirectory(atPath: store) where name != "views" {
                try files.removeItem(atPath: "\(store)/\(name)")
            }
            for name in try files.contentsOfDirectory(atPath: older) where name != "views" {
                try files.copyItem(atPath: "\(older)/\(name)", toPath: "\(store)/\(name)")
            }
        }
    }

    @Test(arguments: Files.allCases)
    func `Events missing from an older copy of the log are reported`(_ older: Files) async throws {
        let store = folder.path()
        let client = Client(store: try Store.open(at: store, access: .creating))
        try await client.createZone()
        try await client.modify([try client.save("old", ["n": 1])])
        try client.store.close()
        try files.copyItem(atPath: store, toPath: folder.path("older.tide"))
        let before = try LogReader(store, fileSystem: PosixFileSystem()).durableSequence
        let again = Client(store: try Store.open(at: store))
        try await again.modify([try again.save("new", ["n": 2])])
        try await again.modify([try again.save("newer", ["n": 3])])
        try again.store.close()
        let last = try LogReader(store, fileSystem: PosixFileSystem()).durableSequence
        try older.bringBack(from: folder.path("older.tide"), to: store)

        let error = #expect(throws: LogError.self) { try Store.open(at: store).close() }
        #expect(error?.code == .corrupted)
        let reading = try Store.open(at: store, access: .reading)
        #expect(try reading.eventSource.damage.isEmpty == false)
        try reading.close()
        let salvaged = try Store.salvage(from: store, to: folder.path("copy.tide"))
        #expect(salvaged.log.lost == [before.next...last])
        let copy = Client(store: try Store.open(at: folder.path("copy.tide")))
        #expect(try await copy.fetch("old").first?.get().fields["n"] == 1)
        #expect(try await copy.fetch("new").first?.error?.code == .unknownItem)
        try copy.store.close()
    }

    /// A store on the simulated disk over three openings, and what its files held after each step.
    private struct Run {
        let disk = SimulatedFileSystem(keepsTrace: false)
        let index = MemoryViewIndex()
        private(set) var moments: [[String: [UInt8]]] = []

        init() async throws {
            for session in 1...3 as ClosedRange<Int64> {
                let environment = StoreEnvironment(disk, index)
                let store = try Store.open(at: "s", access: .creating, environment: environment)
                let client = Client(store: store)
                if session == 1 { try await client.createZone() }
                for step in 1...2 as ClosedRange<Int64> {
                    try await client.modify([
                        try client.save(
                            "r",
                            ["n": .int64(session * 10 + step)],
                            policy: .changedKeys
                        )
                    ])
                    moments.append(disk.files(below: "s"))
                }
                try store.close()
                moments.append(disk.files(below: "s"))
            }
        }
    }

    /// Files of the simulated disk that come back together.
    enum Group: CaseIterable {
        case current, manifests, segments, currentAndManifests, manifestsAndSegments, all

        func match(_ path: String) -> Bool {
            let isCurrent = path.hasSuffix("/CURRENT")
            let isManifest = path.contains("/manifest-")
            let isSegment = path.hasSuffix(".seg")
            return switch self {
            case .current: isCurrent
            case .manifests: isManifest
            case .segments: isSegment
            case .currentAndManifests: isCurrent || isManifest
            case .manifestsAndSegments: isManifest || isSegment
            case .all: isCurrent || isManifest || isSegment
            }
        }
    }

    @Test(arguments: Group.allCases, [false, true])
    func `No older file on the simulated disk hides an event`(
        group: Group,
        leavesNewerFiles: Bool
    ) async throws {
        var changedCount = 0
        for number in 0..<9 {
            // A writer that is let in changes the views, so each moment has its own.
            let run = try await Run()
            let moment = run.moments[number]
            let disk = run.disk.crash(.keepingEverything)
            let before = disk.files(below: "s")
            try disk.bringBack(moment, below: "s") { path in
                group.match(path) && (!leavesNewerFiles || moment[path] != nil)
            }
            guard disk.files(below: "s") != before else { continue }
            changedCount += 1
            try await expectNothingHidden(disk, run.index, "\(group), moment \(number)")
        }
        #expect(changedCount > 0)
    }

    /// Reads, salvages and writes: each has the last save, or says that it does not.
    private func expectNothingHidden(
        _ disk: SimulatedFileSystem,
        _ index: MemoryViewIndex,
        _ comment: Comment
    ) async throws {
        let environment = StoreEnvironment(disk, index)
        let eventCount = index.checkpoint?.sequence.rawValue
        do {
            let store = try Store.open(at: "s", access: .reading, environment: environment)
            let value = try? await Client(store: store).fetch("r").first?.get().fields["n"]
            let isDamaged = try store.eventSource.damage.isEmpty == false
            #expect(value == 32 || isDamaged, comment)
            try store.close()
        } catch let error as LogError {
            #expect(error.code == .corrupted || error.code == .notAStore, comment)
        }
        do {
            let copied = StoreEnvironment(disk.crash(.keepingEverything), index)
            let salvaged = try Store.salvage(from: "s", to: "copy", environment: copied)
            #expect(salvaged.log.eventCount == eventCount || !salvaged.log.lost.isEmpty, comment)
        } catch {
            #expect(error.code == .notAStore, "\(comment): \(error)")
        }
        do {
            let store = try Store.open(at: "s", access: .writing, environment: environment)
            let value = try await Client(store: store).fetch("r").first?.get().fields["n"]
            #expect(value == 32, comment)
            try store.close()
        } catch let error as LogError {
            let codes: [LogError.Code] = [.corrupted, .notAStore, .foreignFile]
            #expect(codes.contains(error.code), comment)
        }
    }
}

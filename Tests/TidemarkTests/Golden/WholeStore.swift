// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Tidemark
import TidemarkLock
import TidemarkModel

@testable import TidemarkLog

/// A store with everything that a store can have, kept as files, and beside it the tokens that devices
/// hold and the answers that it gives.
///
/// The files of a released version never change. Before that, `TIDEMARK_GOLDEN=1 swift test --filter
/// WholeStoreTests` writes them anew.
enum WholeStore {
    private static let fixtures = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../Fixtures/v1/whole").standardizedFileURL
    private static let store = fixtures.appending(path: "store")
    private static let tokens = fixtures.appending(path: "tokens.txt")
    private static let answers = fixtures.appending(path: "answers.txt")

    private static let day: Int64 = 24 * 60 * 60 * 1000
    /// Caches and room: an opening makes them again.
    private static let omitted = ["RESERVE", "queries", "views/lock.mdb"]

    // MARK: Making

    /// Opens a store; the seed and the clock decide everything that differs from run to run.
    static func open(
        _ path: String,
        _ clock: HookedClock,
        seed: UInt64,
        _ access: StoreAccess = .writing
    ) throws -> ErasureWorld {
        ErasureWorld(
            store: try Store.open(
                at: path,
                access: access,
                options: ErasureWorld.options,
                environment: environment(clock, seed: seed)
            )
        )
    }

    private static func environment(_ clock: HookedClock, seed: UInt64) -> StoreEnvironment {
        var environment = StoreEnvironment()
        environment.log.writesInline = true
        environment.log.now = { clock.now }
        environment.log.uptime = nil
        let random = Lock(SeededGenerator(seed: seed))
        environment.log.random = { random.withLock { $0.next() } }
        return environment
    }

    /// The users whose changes are described, by name.
    private static func clients(of world: ErasureWorld) -> [(name: String, client: Client)] {
        [
            ("bob", world.bob),
            ("carol", world.guest("carol", in: ZoneID(zoneName: "Bob", ownerName: "_bob"))),
            ("everybody", world.open(to: "bob")),
            ("zelda", world.zelda(in: ZoneID(zoneName: "zelda's other"))),
            ("zelda in an erased zone", world.zelda),
        ]
    }

    private static func save(_ names: String..., in world: ErasureWorld) async throws {
        for name in names {
            let save = try world.bob.save(name, ["word": "late"], policy: .changedKeys)
            _ = try await world.bob.modify([save]).saves[0].get()
        }
    }

    private static func delete(_ name: String, in world: ErasureWorld) async throws {
        let deletion = RecordDeletion(world.bob.id(name))
        _ = try await world.bob.modify([], delete: [deletion]).deletions[0].get()
    }

    /// Makes the store: several segments, then a compaction and the erasure of a zone, then a tail that
    /// is not sealed.
    ///
    /// Returns the tokens of clients, by the client's name and a moment.
    static func make(at path: String) async throws -> [String: ChangeToken] {
        let clock = HookedClock()
        var tokens: [String: ChangeToken] = [:]
        func note(_ moment: String, _ world: ErasureWorld) async throws {
            for (name, client) in clients(of: world) {
                tokens["\(name)/\(moment)"] = try await client.changes().token
            }
        }
        var world = try open(path, clock, seed: 1, .creating)
        try await world.live()
        try await note("1 before", world)
        try world.store.close()
        // Later than requests can be repeated, so that a compaction drops something.
        clock.pass(200 * day)
        world = try open(path, clock, seed: 2)
        try await delete("b5", in: world)
        try await save("b0", "b1", in: world)
        try await note("2 late", world)
        var policy = CompactionPolicy()
        policy.history = .none
        _ = try await world.store.compact(policy)
        try await save("b0", "b2", in: world)
        try await note("3 compacted", world)
        try world.store.close()
        _ = try Store.erase(
            .zone(ErasureWorld.zone, in: ErasureWorld.own),
            at: path,
            options: ErasureWorld.options,
            environment: environment(clock, seed: 3)
        )
        clock.pass(1_000)
        world = try open(path, clock, seed: 4)
        try await delete("b7", in: world)
        try await save("b0", "b3", "new", in: world)
        // More than a segment.
        for number in 0..<80 { try await save("tail \(number)", in: world) }
        // Rejected, and in the journal.
        let stale = try world.bob.save("b4", ["word": "stale"])
        guard try await world.bob.modify([stale]).saves[0].error != nil else {
            throw SyncError(.internalError, "A save without a tag was accepted.")
        }
        try await world.store.waitUntilNotified()
        try world.store.close()
        return tokens
    }

    /// The segments of a store, as lines of text.
    static func segments(of path: String) throws -> [String] {
        let reader = try LogReader(path, fileSystem: PosixFileSystem())
        return reader.manifest.segments.map { segment in
            "\(segment.id.fileName) through \(segment.last.map { "\($0)" } ?? "-")"
        }
    }

    /// The events of a store, as lines of text.
    ///
    /// Not the bytes of the files: those of blocks depend on the version of LZ4, and `GoldenStoreTests`
    /// and `GoldenCompactionTests` compare them.
    static func log(of path: String) throws -> [String] {
        let reader = try LogReader(path, fileSystem: PosixFileSystem())
        var lines: [String] = []
        let verification = try reader.verify { event in
            let commit = event.commit
            lines.append(
                "\(event.sequence) zone \(event.zone) commit \(commit.first)+\(commit.eventCount) "
                    + "time \(commit.time) received \(commit.received) "
                    + "\(hexadecimal(event.envelope)) \(hexadecimal(event.payload))"
            )
        }
        lines += verification.damage.map { "damage: \($0)" }
        return lines
    }

    private static func hexadecimal(_ bytes: ArraySlice<UInt8>) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    // MARK: The kept files

    /// Copies the kept store.
    static func copy(to path: String) throws {
        try FileManager.default.copyItem(atPath: store.path, toPath: path)
    }

    /// The answers that are kept.
    static func keptAnswers() throws -> [String] {
        try String(contentsOf: answers, encoding: .utf8).split(separator: "\n").map { String($0) }
    }

    /// The tokens that are kept, in the order of their names.
    private static func keptTokens() throws -> [(name: String, token: ChangeToken)] {
        try String(contentsOf: tokens, encoding: .utf8).split(separator: "\n").compactMap { line in
            let parts = line.split(separator: "\t")
            guard parts.count == 2, let token = ChangeToken(String(parts[1])) else { return nil }
            return (String(parts[0]), token)
        }
    }

    /// Writes the files instead of comparing with them.
    static func rewriteIfAsked() async throws {
        guard ProcessInfo.processInfo.environment["TIDEMARK_GOLDEN"] == "1" else { return }
        let files = FileManager.default
        let scratch = try ScratchFolder()
        let made = scratch.path("made.tide")
        let lines = try await make(at: made).sorted { $0.key < $1.key }
            .map { "\($0.key)\t\($0.value)\n" }
        if files.fileExists(atPath: fixtures.path) { try files.removeItem(at: fixtures) }
        try files.createDirectory(at: fixtures, withIntermediateDirectories: true)
        try files.copyItem(atPath: made, toPath: store.path)
        for name in omitted where files.fileExists(atPath: store.appending(path: name).path) {
            try files.removeItem(at: store.appending(path: name))
        }
        let segments = store.appending(path: "segments")
        for name in try files.contentsOfDirectory(atPath: segments.path)
        where !name.hasSuffix(".seg") {
            try files.removeItem(at: segments.appending(path: name))
        }
        try Data(lines.joined().utf8).write(to: tokens)
        let path = scratch.path("copy.tide")
        try copy(to: path)
        let text = try await answers(at: path).map { $0 + "\n" }.joined()
        try Data(text.utf8).write(to: answers)
    }

    // MARK: Answers

    /// Opens a store and asks it everything; closes it and verifies it.
    static func answers(at path: String) async throws -> [String] {
        let clock = HookedClock()
        clock.pass(201 * day)
        let world = try open(path, clock, seed: 5)
        var answers = WholeStoreAnswers(world: world)
        // First, because reading changes adds to it.
        try answers.addJournal()
        for (name, client) in clients(of: world) { try await answers.addRecords(name, client) }
        for (name, token) in try keptTokens() {
            for (owner, client) in clients(of: world) where name.hasPrefix(owner + "/") {
                try await answers.addDelta(name, client, since: token)
            }
        }
        try await answers.addPast()
        try await answers.addRest()
        try world.store.close()
        try answers.addVerification(of: path)
        return answers.lines
    }
}

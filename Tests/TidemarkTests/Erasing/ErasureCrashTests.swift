// Tidemark
// SPDX-License-Identifier: Apache-2.0

import SimulatedDisk
import TestSupport
import Testing
import TidemarkLock
import TidemarkLog
import TidemarkModel
import TidemarkViews

@testable import Tidemark

/// The machine stops at every call of an erasure, a call fails, or the disk is full.
///
/// Afterwards everything is there, or nothing of what was erased is in any byte; no device is told
/// less than there is.
@Suite struct ErasureCrashTests {
    /// What is erased, and a word that is in it and nowhere else.
    enum Subject: CaseIterable {
        case guest
        case owner
        case zone

        var subject: ErasureSubject {
            switch self {
            case .guest: .user(UserID("_bob"))
            case .owner: .user(UserID("_anna"))
            case .zone:
                .zone(ZoneID(zoneName: "Notes"), in: DatabaseID(owner: UserID("_anna")))
            }
        }

        var word: String {
            switch self {
            case .guest: "_bob"
            case .owner: "_anna"
            case .zone: "notes"
            }
        }
    }

    /// A disk, and the view index beside it, which the simulation does not keep.
    private final class Machine: Sendable {
        let files: SimulatedFileSystem
        private let held: Lock<MemoryViewIndex>

        init(_ files: SimulatedFileSystem, _ index: MemoryViewIndex = MemoryViewIndex()) {
            self.files = files
            held = Lock(index)
        }

        var index: MemoryViewIndex { held.withLock { $0 } }

        func erase(_ subject: ErasureSubject, seed: UInt64 = 7) throws -> ErasureReceipt {
            var environment = FeatureWorld.environment(files, index, seed: seed)
            environment.openIndex = { [self] _, _, _ in index }
            environment.removeIndex = { [self] _ in held.withLock { $0 = MemoryViewIndex() } }
            return try Store.erase(
                subject,
                at: "s",
                options: FeatureWorld.options,
                environment: environment
            )
        }
    }

    /// A store in which guests take part, with the tokens that their devices hold.
    private func prepare(
        isClosed: Bool = true
    ) async throws -> (files: SimulatedFileSystem, guests: [SharedDevice]) {
        let files = SimulatedFileSystem(keepsTrace: false)
        let world = try FeatureWorld(files, MemoryViewIndex(), .creating)
        for step in FeatureWorkload.sharing.steps.prefix(17) { try await step(world) }
        let guests = try await world.sync(nil, after: 17).guests
        #expect(guests.contains { !$0.records.isEmpty })
        if !isClosed { return (files.crash(.processKilled), guests) }
        try world.store.close()
        return (files, guests)
    }

    private func search(_ files: SimulatedFileSystem, _ word: String) throws -> Set<String> {
        try StoreSearch(path: "s", fileSystem: files).places(of: word)
    }

    /// What is to be seen before and after, without any fault.
    private struct Whole {
        var before: [String: String]
        var after: [String: String]
        var first: Int
        var callCount: Int
    }

    private func picture(_ world: FeatureWorld) async throws -> [String: String] {
        var picture: [String: String] = [:]
        for name in FeatureWorld.guests {
            var device = SharedDevice(world.guest(name))
            _ = try await device.sync(limit: 5)
            picture[name] = device.records.keys.sorted().joined(separator: " ")
        }
        do {
            picture["anna"] = try await world.anna.visible().sorted().joined(separator: " ")
        } catch let error as SyncError {
            picture["anna"] = "\(error.code)"
        }
        return picture
    }

    private func whole(_ subject: Subject, _ files: SimulatedFileSystem) async throws -> Whole {
        var world = try FeatureWorld(files.crash(.keepingEverything), MemoryViewIndex(), seed: 5)
        let before = try await picture(world)
        let machine = Machine(files.crash(.keepingEverything))
        let first = machine.files.callCount
        let receipt = try machine.erase(subject.subject)
        #expect(receipt.removedCount > 2)
        let callCount = machine.files.callCount
        #expect(try search(machine.files, subject.word).isEmpty)
        world = try FeatureWorld(machine.files, machine.index, seed: 6)
        let after = try await picture(world)
        #expect(before != after)
        return Whole(before: before, after: after, first: first, callCount: callCount)
    }

    /// Opens what a fault has left, and compares it.
    private func check(
        _ files: SimulatedFileSystem,
        _ index: MemoryViewIndex,
        _ subject: Subject,
        _ whole: Whole,
        _ guests: [SharedDevice],
        _ place: String
    ) async throws {
        let isPending = try files.exists("s/ERASING")
        let world = try FeatureWorld(files, index, seed: 11)
        #expect(try !files.exists("s/ERASING"))
        // Before anybody asks for anything, and is named in the journal for it.
        let left = try search(files, subject.word)
        let picture = try await picture(world)
        #expect(left.isEmpty || picture == whole.before, "\(place): left in \(left)")
        #expect(picture == whole.after || !isPending && picture == whole.before, "\(place)")
        for var guest in guests {
            guest.client = world.guest(
                String((guest.client.caller.user?.userRecordName ?? "").dropFirst())
            )
            var fresh = SharedDevice(guest.client)
            _ = try await fresh.sync(limit: 5)
            _ = try await guest.sync(limit: 3)
            #expect(guest.records == fresh.records, "\(place): \(guest.client.caller)")
        }
        try world.store.close()
        let reader = try LogReader("s", fileSystem: files)
        #expect(try reader.verify().damage.isEmpty, "\(place)")
    }

    @Test(arguments: Subject.allCases)
    func `A crash at any call leaves all of the subject or none`(subject: Subject) async throws {
        let (files, guests) = try await prepare()
        #expect(try search(files, subject.word).contains("blocks"))
        let whole = try await whole(subject, files)
        #expect(whole.callCount - whole.first > 100)
        let outcomes: [CrashOutcome] = [
            .losingEverythingUnsynced, .keepingEverything, .processKilled,
        ]
        for call in stride(
            from: whole.first + 1,
            through: whole.callCount,
            by: runsLongTests ? 1 : 5
        ) {
            let all = outcomes + [.seeded(UInt64(call))]
            for outcome in runsLongTests ? all : [all[call % 4]] {
                let machine = Machine(files.crash(.keepingEverything))
                machine.files.stop(atCall: call)
                _ = try? machine.erase(subject.subject)
                let index = call % 3 == 0 ? machine.index : MemoryViewIndex()
                let place = "call \(call), \(outcome)"
                try await check(machine.files.crash(outcome), index, subject, whole, guests, place)
            }
        }
    }

    /// The numbers of the calls that an open store makes to erase, without any fault.
    private func callsOfOpenErasure(
        _ subject: Subject,
        _ files: SimulatedFileSystem,
        _ whole: Whole
    ) async throws -> ClosedRange<Int> {
        let disk = files.crash(.keepingEverything)
        let world = try FeatureWorld(disk, MemoryViewIndex(), seed: 5)
        let first = disk.callCount + 1
        #expect(try world.store.erase(subject.subject).removedCount > 2)
        let last = disk.callCount
        #expect(last - first > 100)
        #expect(try search(disk, subject.word).isEmpty)
        #expect(try await picture(world) == whole.after)
        try world.store.close()
        return first...last
    }

    @Test(arguments: Subject.allCases)
    func `A failed call while an open store erases leaves it open, or to be opened again`(
        subject: Subject
    ) async throws {
        let (files, guests) = try await prepare()
        let whole = try await whole(subject, files)
        let calls = try await callsOfOpenErasure(subject, files, whole)
        var openCount = 0
        for call in calls where runsLongTests || call % 17 == 0 {
            let disk = files.crash(.keepingEverything)
            let world = try FeatureWorld(disk, MemoryViewIndex(), seed: 5)
            disk.failCall(call, with: call % 2 == 0 ? 5 : 28)
            _ = try? world.store.erase(subject.subject)
            disk.clearFaults()
            let left = disk.crash(.keepingEverything)
            try await check(left, MemoryViewIndex(), subject, whole, guests, "call \(call)")
            // Closed if the failed call was one of opening it again.
            guard (try? world.store.figures()) != nil else { continue }
            openCount += 1
            let picture = try await picture(world)
            #expect(picture == whole.before || picture == whole.after, "call \(call)")
            try? world.store.close()
        }
        #expect(openCount > 0)
    }

    @Test(arguments: Subject.allCases)
    func `A crash while an open store erases leaves all of the subject or none`(
        subject: Subject
    ) async throws {
        let (files, guests) = try await prepare()
        let whole = try await whole(subject, files)
        let calls = try await callsOfOpenErasure(subject, files, whole)
        let outcomes: [CrashOutcome] = [
            .losingEverythingUnsynced, .keepingEverything, .processKilled,
        ]
        for call in calls where runsLongTests || call % 13 == 0 {
            let disk = files.crash(.keepingEverything)
            let world = try FeatureWorld(disk, MemoryViewIndex(), seed: 5)
            disk.stop(atCall: call)
            _ = try? world.store.erase(subject.subject)
            let outcome = outcomes[call % 3]
            let place = "call \(call), \(outcome)"
            let left = disk.crash(outcome)
            try await check(left, MemoryViewIndex(), subject, whole, guests, place)
        }
    }

    @Test(arguments: Subject.allCases)
    func `A store whose writer was killed is erased completely`(subject: Subject) async throws {
        // What such a store is opened with begins an empty segment, whose dictionary is a sample.
        let (files, _) = try await prepare(isClosed: false)
        #expect(try search(files, subject.word).contains("blocks"))
        _ = try Machine(files).erase(subject.subject)
        #expect(try search(files, subject.word).isEmpty)
    }

    @Test(arguments: Subject.allCases)
    func `A failed call leaves everything, or erasing again completes it`(
        subject: Subject
    ) async throws {
        let (files, guests) = try await prepare()
        let whole = try await whole(subject, files)
        for call in stride(
            from: whole.first + 1,
            through: whole.callCount,
            by: runsLongTests ? 1 : 11
        ) {
            let machine = Machine(files.crash(.keepingEverything))
            machine.files.failCall(call, with: call % 2 == 0 ? 5 : 28)
            _ = try? machine.erase(subject.subject)
            machine.files.clearFaults()
            let files = machine.files.crash(.keepingEverything)
            try await check(files, machine.index, subject, whole, guests, "call \(call)")
            _ = try Machine(files).erase(subject.subject, seed: 13)
            let left = try search(files, subject.word)
            #expect(left.isEmpty, "call \(call): left in \(left)")
        }
    }

    @Test(arguments: [false, true])
    func `An erasure that fails to begin is not completed, unless it was pending`(
        wasPending: Bool
    ) throws {
        let disk = SimulatedFileSystem()
        try disk.createDirectory("s")
        let environment = FeatureWorld.environment(disk, MemoryViewIndex(), seed: 1)
        let files = ErasureFiles(StoreFolder("s"), environment)
        let subject = Subject.zone.subject
        if wasPending { try files.begin(subject) }
        // The sync after the file got its name.
        let number = disk.callCount(of: .syncDirectory) + 1
        disk.failCall(number, of: .syncDirectory, with: 5)
        let error = #expect(throws: LogError.self) { try files.begin(subject) }
        #expect(error?.code == .unreadable)
        disk.clearFaults()
        #expect(try files.pending() == (wasPending ? subject : nil))
        #expect(try !disk.exists("s/ERASING.tmp"))
        try files.begin(subject)
        #expect(try files.pending() == subject)
    }

    @Test func `A full disk rejects an erasure, and the store stays usable`() async throws {
        let (files, _) = try await prepare()
        let whole = try await whole(.owner, files)
        let machine = Machine(files.crash(.keepingEverything))
        // With what is kept back for such a day, it would have room.
        try machine.files.remove("s/RESERVE")
        let used = try ["s", "s/segments"].reduce(0) { sum, folder in
            try machine.files.list(folder).reduce(sum) { sum, name in
                sum + Int(try machine.files.status(of: folder + "/" + name)?.byteCount ?? 0)
            }
        }
        machine.files.setCapacity(used + 4096)
        let error = #expect(throws: LogError.self) { try machine.erase(Subject.owner.subject) }
        #expect(error?.code == .full)
        #expect(try !machine.files.exists("s/ERASING"))
        machine.files.setCapacity(nil)
        let world = try FeatureWorld(machine.files, MemoryViewIndex(), seed: 5)
        #expect(try await picture(world) == whole.before)
        try world.store.close()
        _ = try machine.erase(Subject.owner.subject)
        #expect(try search(machine.files, Subject.owner.word).isEmpty)
    }
}

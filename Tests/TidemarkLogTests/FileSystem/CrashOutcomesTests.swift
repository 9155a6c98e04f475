// Tidemark
// SPDX-License-Identifier: Apache-2.0

import SimulatedDisk
import Testing
import TidemarkLog

/// The lists of outcomes, where they are too many to take them all.
@Suite struct CrashOutcomesTests {
    /// Forty sectors over a durable file, in ten writes of four.
    private func busyDisk() throws -> SimulatedFileSystem {
        let files = SimulatedFileSystem()
        let file = try files.open("/f", .create)
        try file.allocate(to: 40 * 512)
        try file.sync()
        try files.syncDirectory("/")
        for number in 0..<10 as Range<UInt8> {
            let bytes = [UInt8](repeating: number + 1, count: 4 * 512)
            try file.write(bytes, at: UInt64(number) * 4 * 512)
        }
        return files
    }

    /// Which of the forty sectors were written.
    private func kept(_ files: SimulatedFileSystem) throws -> [Bool] {
        let bytes = try files.contents("/f")
        return (0..<40).map { bytes[$0 * 512] != 0 }
    }

    @Test func `The outcomes have the requested number and are distinct`() throws {
        let files = try busyDisk()
        for limit in [3, 10, 200] {
            let outcomes = files.crashOutcomes(limit: limit)
            #expect(outcomes.count == limit)
            let images = try Set(outcomes.map { try kept(files.crash($0)) })
            #expect(images.count == limit)
        }
    }

    @Test func `The outcomes contain every prefix, single loss and single survivor`() throws {
        let files = try busyDisk()
        let images = try Set(files.crashOutcomes(limit: 200).map { try kept(files.crash($0)) })
        for index in 0..<40 {
            #expect(images.contains((0..<40).map { $0 < index }))
            #expect(images.contains((0..<40).map { $0 != index }))
            #expect(images.contains((0..<40).map { $0 == index }))
        }
        #expect(images.contains([Bool](repeating: true, count: 40)))
    }

    @Test func `The outcomes contain names without content and content without names`() throws {
        let files = SimulatedFileSystem()
        for name in 0..<8 {
            let file = try files.open("/\(name)", .create)
            try file.write([UInt8](repeating: 1, count: 1024), at: 0)
        }
        let images = try files.crashOutcomes(limit: 100).map { outcome in
            let after = files.crash(outcome)
            return try after.list("/").map { [Array($0.utf8), try after.contents("/" + $0)] }
        }
        func everyFile(holding bytes: [UInt8]) -> [[[UInt8]]] {
            (0..<8).map { [Array("\($0)".utf8), bytes] }
        }
        #expect(images.contains([]))
        #expect(images.contains(everyFile(holding: [])))
        #expect(images.contains(everyFile(holding: [UInt8](repeating: 0, count: 1024))))
        #expect(Set(images).count == images.count)
    }

    @Test func `Equal seeds give equal disks, and other seeds give others`() throws {
        let files = try busyDisk()
        let images = try (0..<20 as Range<UInt64>).map { try kept(files.crash(.seeded($0))) }
        let again = try (0..<20 as Range<UInt64>).map { try kept(files.crash(.seeded($0))) }
        #expect(images == again)
        #expect(Set(images).count > 15)
    }

    @Test func `A workload stopped at every call, with every loss, keeps its guarantee`() throws {
        // The promise: /value holds the last acknowledged number, or the one being written.
        func run(_ files: SimulatedFileSystem, acknowledged: inout UInt8) throws(FileError) {
            for number in 1...3 as ClosedRange<UInt8> {
                let file = try files.open("/tmp", .create)
                try file.write([UInt8](repeating: number, count: 600), at: 0)
                try file.sync()
                file.close()
                try files.rename("/tmp", to: "/value")
                try files.syncDirectory("/")
                acknowledged = number
            }
        }
        func violations(_ prepare: (SimulatedFileSystem) -> Void) throws -> Int {
            let dry = SimulatedFileSystem()
            var acknowledged: UInt8 = 0
            try run(dry, acknowledged: &acknowledged)
            #expect(acknowledged == 3)
            var violations = 0
            for call in 1...(dry.callCount + 1) {
                let files = SimulatedFileSystem()
                prepare(files)
                files.stop(atCall: call)
                var acknowledged: UInt8 = 0
                do throws(FileError) {
                    try run(files, acknowledged: &acknowledged)
                } catch {
                    #expect(error.errorNumber == SimulatedFileSystem.stoppedErrorNumber)
                }
                for outcome in files.crashOutcomes(limit: 100) {
                    let after = files.crash(outcome)
                    let value = try after.exists("/value") ? after.contents("/value") : []
                    let permitted = [acknowledged, acknowledged + 1].map {
                        $0 == 0 ? [] : [UInt8](repeating: $0, count: 600)
                    }
                    if !permitted.contains(value) { violations += 1 }
                }
            }
            return violations
        }
        #expect(try violations { _ in } == 0)
        #expect(try violations { $0.ignoreSync(2) } > 0)
        #expect(try violations { $0.ignoreSync(2, of: .syncDirectory) } > 0)
        #expect(try violations { $0.ignoreSyncs { $0 == "/tmp" } } > 0)
        #expect(try violations { $0.ignoreSyncs { $0 == "/other" } } == 0)
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import SimulatedDisk
import Testing
import TidemarkEvents
import TidemarkLog

@testable import Tidemark

/// What a crash at any moment leaves of blobs, and what fails when a call does.
@Suite struct BlobCrashTests {
    /// Blobs of some sizes.
    private static let contents: [[UInt8]] = [
        [0x00, 0xB2], [0x01, 0x2F], Array(repeating: 7, count: 1_500), [],
    ]

    /// Takes the blobs in, one after another; answers with those that were acknowledged.
    private func run(on disk: SimulatedFileSystem) -> [(BlobID, [UInt8])] {
        var acknowledged: [(BlobID, [UInt8])] = []
        guard let blobs = try? ScratchBlobs(disk) else { return [] }
        for bytes in Self.contents {
            guard let blob = try? blobs.put(bytes) else { continue }
            acknowledged.append((blob, bytes))
        }
        return acknowledged
    }

    /// What is wrong with a disk after a crash.
    private func loss(
        on disk: SimulatedFileSystem,
        of acknowledged: [(BlobID, [UInt8])]
    ) -> String? {
        do {
            let blobs = try ScratchBlobs(disk)
            for (blob, bytes) in acknowledged where try blobs.get(blob) != bytes {
                return "\(blob) has other bytes"
            }
            for blob in try blobs.all() { try blobs.store.verify(blob) }
            try blobs.put([1, 2, 3])
            guard try disk.list("/store/assets/incoming").isEmpty else {
                return "an upload is left over"
            }
            return nil
        } catch {
            return "\(error)"
        }
    }

    @Test func `An acknowledged blob survives a crash, and existing blobs are complete`() {
        let calls = SimulatedFileSystem()
        #expect(run(on: calls).count == Self.contents.count)
        #expect(calls.callCount > 20)
        for number in 1...calls.callCount + 1 {
            let disk = SimulatedFileSystem(keepsTrace: false)
            disk.stop(atCall: number)
            let acknowledged = run(on: disk)
            for outcome in disk.crashOutcomes(limit: 40) + [.processKilled] {
                let problem = loss(on: disk.crash(outcome), of: acknowledged)
                #expect(problem == nil, "stopped at call \(number), \(outcome)")
            }
        }
    }

    @Test(arguments: [
        (FileError.Call.sync, "/incoming/"), (.syncDirectory, "/store"),
        (.syncDirectory, "/store/assets"), (.syncDirectory, "/store/assets/"),
    ])
    func `No sync can be omitted`(_ kind: FileError.Call, _ part: String) {
        var found = false
        let disk = SimulatedFileSystem(keepsTrace: false)
        disk.ignoreSyncs(of: kind) { path in
            part.hasSuffix("/") ? path.contains(part) : path == part
        }
        let acknowledged = run(on: disk)
        for outcome in disk.crashOutcomes(limit: 200) {
            if loss(on: disk.crash(outcome), of: acknowledged) != nil { found = true }
        }
        #expect(found)
    }

    @Test func `A blob of a killed process is durable before a commit may reference it`() throws {
        let whole = SimulatedFileSystem()
        _ = run(on: whole)
        for number in 1...whole.callCount {
            let first = SimulatedFileSystem(keepsTrace: false)
            first.stop(atCall: number)
            _ = run(on: first)
            let second = first.crash(.processKilled)
            let blobs = try ScratchBlobs(second)
            var named: [(BlobID, [UInt8])] = []
            for bytes in Self.contents {
                let blob = Self.blob(of: bytes)
                guard try blobs.store.durableStatus(of: blobs.held(blob)) != nil else { continue }
                named.append((blob, bytes))
            }
            for outcome in second.crashOutcomes(limit: 60) {
                let problem = loss(on: second.crash(outcome), of: named)
                #expect(problem == nil, "killed at call \(number), \(outcome)")
            }
        }
    }

    private static func blob(of bytes: [UInt8]) -> BlobID {
        var hash = BlobHash()
        hash.update(bytes.span.bytes)
        return hash.finish()
    }

    @Test func `A blob whose name may be lost cannot be referenced`() throws {
        let disk = SimulatedFileSystem()
        let blobs = try ScratchBlobs(disk)
        try blobs.put([1])
        disk.failCall(disk.callCount(of: .syncDirectory) + 1, of: .syncDirectory, with: 5)
        let bytes: [UInt8] = [2]
        #expect(throws: BlobError.self) { try blobs.put(bytes) }
        let blob = blobs.held(Self.blob(of: bytes))
        #expect(try blobs.store.status(of: blob) != nil)
        #expect(try blobs.store.durableStatus(of: blob) == nil)
        try blobs.put(bytes)
        #expect(try blobs.store.durableStatus(of: blob)?.byteCount == 1)
    }

    @Test func `A failed call fails one upload, and the next one succeeds`() throws {
        let calls = SimulatedFileSystem()
        _ = run(on: calls)
        for number in 1...calls.callCount {
            let disk = SimulatedFileSystem(keepsTrace: false)
            disk.failCall(number, with: 5)
            _ = run(on: disk)
            disk.clearFaults()
            let blobs = try ScratchBlobs(disk)
            for bytes in Self.contents {
                #expect(try blobs.get(try blobs.put(bytes)) == bytes)
            }
        }
    }

    @Test func `A failed call leaves no partial blob in the same process`() {
        let calls = SimulatedFileSystem()
        _ = run(on: calls)
        for number in 1...calls.callCount {
            let disk = SimulatedFileSystem(keepsTrace: false)
            disk.failCall(number, with: 5)
            let acknowledged = run(on: disk)
            disk.clearFaults()
            for outcome in disk.crashOutcomes(limit: 20) {
                let problem = loss(on: disk.crash(outcome), of: acknowledged)
                #expect(problem == nil, "call \(number) failed, \(outcome)")
            }
        }
    }

    @Test func `A full disk rejects an upload and keeps existing blobs`() throws {
        let disk = SimulatedFileSystem(capacity: 100)
        let blobs = try ScratchBlobs(disk)
        let blob = try blobs.put([1, 2, 3])
        #expect {
            try blobs.put(Array(repeating: 1, count: 200))
        } throws: { error in
            guard case .file(let cause)? = error as? BlobError else { return false }
            return cause.isOutOfSpace
        }
        #expect(try disk.list("/store/assets/incoming") == [])
        #expect(try blobs.get(blob) == [1, 2, 3])
        disk.setCapacity(nil)
        #expect(try blobs.get(try blobs.put(Array(repeating: 1, count: 200))).count == 200)
    }
}

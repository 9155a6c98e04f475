// Tidemark
// SPDX-License-Identifier: Apache-2.0

import SimulatedDisk
import Testing
import TidemarkLock

@testable import TidemarkLog

@Suite struct FollowingReaderTests {
    /// A reader beside a writer, and what it found.
    private final class Follower: Sendable {
        private let reader = Lock<LogReader?>(nil)
        private let callCount = Lock(0)
        let verdict = Verdict()

        /// Looks, if it is time to, and notes what is missing.
        func look(at disk: SimulatedFileSystem, every stride: Int) {
            let count = callCount.withLock { count in
                count += 1
                return count
            }
            guard count % stride == 0 else { return }
            do throws(LogError) {
                verdict.add(try missing(on: disk), at: "before call \(count)")
            } catch {
                verdict.add("\(error)", at: "before call \(count)")
            }
        }

        /// Refreshes, and says what the reader lacks of what it says is there.
        private func missing(on disk: SimulatedFileSystem) throws(LogError) -> String? {
            let reader = try reader.withLock { (known) throws(LogError) in
                if let known {
                    _ = try known.refresh()
                    return known
                }
                let opened = try LogReader(CrashWorkload.path, fileSystem: disk)
                known = opened
                return opened
            }
            let last = reader.durableSequence
            var found: UInt64 = 0
            try reader.scan(from: SequenceNumber(rawValue: 1), through: last) { event in
                guard event.sequence.rawValue == found + 1 else { return false }
                found += 1
                return true
            }
            if found != last.rawValue { return "has \(found) of \(last) events" }
            return reader.damage.first.map { "\($0)" }
        }
    }

    @Test(arguments: [1, 2, 3, 5, 7, 11, 19])
    func `A following reader can read every event that it reports, at any call of the writer`(
        stride: Int
    ) throws {
        let disk = SimulatedFileSystem()
        let follower = Follower()
        try CrashWorkload.open(disk, seed: 1, segmentByteCount: 8 << 10).log.close()
        let files = WatchedFileSystem(disk) { follower.look(at: $0, every: stride) }
        let (log, _) = try CrashWorkload.open(files, seed: 2, segmentByteCount: 8 << 10)
        for number in 0..<150 {
            try log.commit(.sample(number, zones: [UInt64(number % 5 + 1)], byteCount: 300))
        }
        #expect(log.files.segmentCount > 3)
        try log.close()
        #expect(follower.verdict.violations.prefix(3) == [])
        #expect(follower.verdict.triedCount > 10)
    }
}

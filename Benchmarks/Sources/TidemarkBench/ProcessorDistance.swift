// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization

/// How far two processors are from each other: the time for a cache line to go from one to the other and back.
///
/// A virtual machine's processors share a cache at one time and not at another, as its host places them.
/// Work of two threads that pass memory to each other then takes up to half as long again, and nothing else
/// shows it: no time is stolen, and work of one thread is as fast as before.
enum ProcessorDistance {
    private static let roundCount = 2_000
    /// The longest measurement; on one processor the threads wait for each other.
    private static let limit = Duration.milliseconds(20)

    /// The time in nanoseconds; `nil` if two threads do not run at once.
    static func measure() -> Double? {
        let line = Line()
        Thread.detachNewThread { line.answer() }
        return line.ask()
    }

    /// A cache line with a number that two threads count up in turns.
    private final class Line: Sendable {
        private let number = Atomic(0)
        private let isAbandoned = Atomic(false)

        /// Sets odd numbers after even ones.
        func ask() -> Double? {
            let start = ContinuousClock.now
            // The other thread has started once it has set the first number.
            while number.load(ordering: .acquiring) == 0 {
                if ContinuousClock.now - start > ProcessorDistance.limit { return abandon() }
            }
            let begin = ContinuousClock.now
            for round in 1...ProcessorDistance.roundCount {
                number.store(2 * round, ordering: .releasing)
                var pollCount = 0
                while number.load(ordering: .acquiring) == 2 * round {
                    pollCount += 1
                    if pollCount % 1024 == 0, ContinuousClock.now - begin > ProcessorDistance.limit
                    {
                        return abandon()
                    }
                }
            }
            return begin.secondsUntilNow * 1e9 / Double(ProcessorDistance.roundCount)
        }

        private func abandon() -> Double? {
            isAbandoned.store(true, ordering: .relaxed)
            return nil
        }

        func answer() {
            number.store(1, ordering: .releasing)
            for round in 1...ProcessorDistance.roundCount {
                while number.load(ordering: .acquiring) < 2 * round {
                    if isAbandoned.load(ordering: .relaxed) { return }
                }
                number.store(2 * round + 1, ordering: .releasing)
            }
        }
    }
}

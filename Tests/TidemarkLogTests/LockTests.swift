// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Testing
import TidemarkLock
import TidemarkLog

@Suite struct LockTests {
    private struct Refused: Error, Equatable {}

    private final class Counter: Sendable {
        let total = Lock(0)
    }

    @Test func `Concurrent additions lose nothing`() async {
        let counter = Counter()
        await withTaskGroup { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<5_000 { counter.total.withLock { $0 += 1 } }
                }
            }
        }
        #expect(counter.total.withLock { $0 } == 40_000)
    }

    @Test func `A thrown error keeps its type and the changes, and unlocks`() {
        let lock = Lock([1])
        do throws(Refused) {
            try lock.withLock { state throws(Refused) in
                state.append(2)
                throw Refused()
            }
            Issue.record("The error was swallowed")
        } catch {
            #expect(error == Refused())
        }
        #expect(lock.withLock { $0 } == [1, 2])
    }
}

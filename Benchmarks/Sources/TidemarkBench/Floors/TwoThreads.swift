// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Synchronization

/// Runs a body on two threads at once, with their numbers, and throws its first error.
func onTwoThreads(_ body: @Sendable (Int) throws -> Void) throws {
    let failure = Mutex<(any Error)?>(nil)
    DispatchQueue.concurrentPerform(iterations: 2) { thread in
        do {
            try body(thread)
        } catch {
            failure.withLock { $0 = $0 ?? error }
        }
    }
    if let failure = failure.withLock({ $0 }) { throw failure }
}

/// The bytes that each of two threads has made.
final class Halves: Sendable {
    private let halves = Mutex<[[UInt8]]>([[], []])

    func set(_ thread: Int, _ bytes: [UInt8]) { halves.withLock { $0[thread] = bytes } }

    var all: [[UInt8]] { halves.withLock { $0 } }
}

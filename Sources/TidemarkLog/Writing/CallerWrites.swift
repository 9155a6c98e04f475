// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Synchronization

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// Decides whether a caller that waits for its own commit writes and syncs it on its own thread.
///
/// Handing a commit to the writer's thread and getting the result back wakes two sleeping threads,
/// which costs more than compressing and writing one record. But the caller's thread may be one of
/// Swift's cooperative pool, which has one for each processor, so it must not wait for long:
///
/// - At most one thread fewer than there are processors waits for a disk at the same time, over all
///   stores of the process. On a machine with one processor, no caller writes.
/// - After a sync that took longer than `patience`, callers do not write until one was faster.
/// - A store on a file system that may wait for a network never lets a caller write.
struct CallerWrites: ~Copyable {
    /// The longest sync, in nanoseconds, after which the next caller still writes.
    ///
    /// Ten times the sync of a fast disk. The time that a thread of the pool is lost is about that of
    /// the next sync, so a rotating disk (10 ms) or a stalled one blocks a caller once.
    private static let patience: UInt64 = 1_000_000

    /// The number of threads that may still wait for a disk.
    final class Places: Sendable {
        fileprivate let count: Atomic<Int>

        init(_ count: Int) {
            self.count = Atomic(count)
        }

        /// The places of this process: one fewer than there are processors.
        static let ofProcess = Places(max(0, CallerWrites.processorCount - 1))
    }

    /// The number of processors of the machine.
    static let processorCount = Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))

    private let places: Places
    /// True if the store's folder is on a disk of this machine.
    private let isLocal: Bool
    private let isSlow = Atomic(false)

    init(isLocal: Bool, places: Places = .ofProcess) {
        self.isLocal = isLocal
        self.places = places
    }

    /// Takes a place, if the caller may write; `leave` returns it.
    func enter() -> Bool {
        guard isLocal, !isSlow.load(ordering: .relaxed) else { return false }
        // The count may be negative for a moment, until a caller without a place adds its one back.
        // Another caller may then fail to enter, and only uses the writer's thread.
        if places.count.subtract(1, ordering: .acquiring).newValue >= 0 { return true }
        leave()
        return false
    }

    func leave() {
        places.count.add(1, ordering: .releasing)
    }

    /// Runs a write and sync, and notes if it was slow.
    func timing<Result, Failure: Error>(
        _ work: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        guard isLocal else { return try work() }
        let start = DispatchTime.now().uptimeNanoseconds
        let result = try work()
        let end = DispatchTime.now().uptimeNanoseconds
        // The writer's thread is timed too. Otherwise nothing could reset `isSlow` while callers do
        // not write.
        isSlow.store(end - start > Self.patience, ordering: .relaxed)
        return result
    }
}

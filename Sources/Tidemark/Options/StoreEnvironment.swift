// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkLog
package import TidemarkViews

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// The effects that a store needs, injected: files, clock, randomness, and where views are kept.
package struct StoreEnvironment: Sendable {
    /// Files, clock and randomness.
    package var log: LogEnvironment
    /// Opens the view index of a store in a folder.
    ///
    /// The default is LMDB; tests have a twin in memory.
    package var openIndex:
        @Sendable (String, ViewAccess, StoreID) throws(ViewIndexError) -> any ViewIndex
    /// Replaces the view index in a folder by a copy, so that processes that have it open keep
    /// theirs; does nothing if there is none.
    package var renewIndex: @Sendable (String, StoreID) throws(ViewIndexError) -> Void
    /// Copies the view index of a store in a folder into another folder, and returns the position
    /// at which it is exact; does nothing if there is none.
    package var copyIndex:
        @Sendable (String, String, ViewAccess, StoreID) throws(ViewIndexError) -> SequenceNumber?
    /// Removes the view index in a folder.
    package var removeIndex: @Sendable (String) throws(ViewIndexError) -> Void
    /// The folder of the query index, in the machine's own file system even if the store is
    /// elsewhere; `nil` for the store's folder, or for memory if the store's files are not the
    /// machine's own.
    package var queryFolder: String?
    /// The number of events that a query waits for the index to read, rather than read records
    /// itself.
    ///
    /// They take an imperceptible time.
    package var queryIndexNearCount: UInt64 = 4_096
    /// Closes files that the store does not need while nobody uses it.
    package var idleSweep = IdleSweep.shared
    /// The bits of a record's slot that are used: all of them, except in tests of colliding names.
    package var slotMask = UInt64.max

    /// The machine's own files, clock and randomness.
    package init() {
        log = LogEnvironment(
            fileSystem: PosixFileSystem(),
            now: Self.wallClock,
            random: { UInt64.random(in: .min ... .max) }
        )
        log.uptime = Self.uptimeClock
        log.marker = .records
        openIndex = { (path, access, store) throws(ViewIndexError) in
            try LMDBViewIndex.open(path, access: access, store: store)
        }
        renewIndex = { (path, store) throws(ViewIndexError) in
            try LMDBViewIndex.renew(path, store: store)
        }
        copyIndex = { (path, target, access, store) throws(ViewIndexError) in
            try LMDBViewIndex.copy(from: path, to: target, access: access, store: store)
        }
        removeIndex = { (path) throws(ViewIndexError) in try LMDBViewIndex.remove(path) }
    }

    /// Milliseconds since 1970.
    @Sendable
    private static func wallClock() -> Int64 { milliseconds(CLOCK_REALTIME) }

    /// Milliseconds since the machine was started.
    @Sendable
    private static func uptimeClock() -> Int64 {
        #if os(Linux)
        // Unlike the monotonic clock of Linux, this one includes the time that the machine slept.
        milliseconds(CLOCK_BOOTTIME)
        #else
        milliseconds(CLOCK_MONOTONIC)
        #endif
    }

    private static func milliseconds(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        // Cannot fail: the clocks exist everywhere, and the pointer is good.
        _ = clock_gettime(clock, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }
}

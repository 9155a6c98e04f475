// Tidemark
// SPDX-License-Identifier: Apache-2.0

import CPlatform

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// The address space of this process, where the system limits it (`ulimit -v`).
package enum AddressSpace {
    /// Bytes that the process may still map; `nil` if there is no limit or the limit is unknown.
    package static var remainingByteCount: UInt64? {
        #if os(Linux)
        guard let limit, let used = usedByteCount else { return nil }
        return limit - min(limit, used)
        #else
        return nil
        #endif
    }

    /// Throws `unreadable` if fewer bytes remain than opening a store is about to need.
    ///
    /// Without this check, the process would end later: in an allocation that cannot fail, or when
    /// a thread cannot start.
    package static func check(has neededByteCount: UInt64, path: String) throws(LogError) {
        guard let remaining = remainingByteCount, remaining < neededByteCount else { return }
        func mebibytes(_ byteCount: UInt64) -> String { "\((byteCount + (1 << 20) - 1) >> 20) MiB" }
        throw LogError(
            .unreadable,
            "The address-space limit of this process leaves \(mebibytes(remaining)), but "
                + "\(mebibytes(neededByteCount)) are needed. Raise the limit: `ulimit -v "
                + "unlimited`.",
            path: path
        )
    }

    /// Prepares this process for an address space limit, if there is one.
    ///
    /// Call this function before any thread is started.
    ///
    /// Throws `unreadable` if no room is left for the threads. The runtime would wait for ever for one
    /// that cannot start.
    package static func prepareProcess(named name: String) throws(LogError) {
        guard remainingByteCount != nil else { return }
        // By default each thread reserves 64 MiB or more for a heap of its own.
        tidemark_share_one_heap()
        // The cooperative pool has one thread per processor. Add the main thread, the thread that
        // waits for files, and threads that are about to end.
        let threadCount = UInt64(max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))) + 4
        try check(has: 16 << 20 + threadCount * stackByteCount, path: name)
    }

    /// Bytes of a new thread's stack.
    private static var stackByteCount: UInt64 {
        var attributes = pthread_attr_t()
        var count = 0
        guard pthread_attr_init(&attributes) == 0 else { return 8 << 20 }
        defer { pthread_attr_destroy(&attributes) }
        pthread_attr_getstacksize(&attributes, &count)
        return UInt64(count)
    }

    #if os(Linux)
    private static var limit: UInt64? {
        var limit = rlimit()
        #if canImport(Musl)
        let result = getrlimit(RLIMIT_AS, &limit)
        #else
        let result = getrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limit)
        #endif
        guard result == 0, limit.rlim_cur < UInt64(Int64.max) else { return nil }
        return UInt64(limit.rlim_cur)
    }

    private static var usedByteCount: UInt64? {
        let file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = read(file, &bytes, bytes.count)
        let text = String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
        guard let pages = text.split(separator: " ").first.flatMap({ UInt64($0) }) else {
            return nil
        }
        return pages * UInt64(sysconf(Int32(_SC_PAGESIZE)))
    }
    #endif
}

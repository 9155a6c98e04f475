// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// The address space of this process, where the system limits it (`ulimit -v`).
package enum AddressSpace {
    /// Bytes that the process may still map; `nil` where there is no limit, or none can be told.
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
    /// Without the check the process would be ended later, by an allocation that cannot fail or by a
    /// thread that cannot start.
    package static func check(has neededByteCount: UInt64, path: String) throws(LogError) {
        guard let remaining = remainingByteCount, remaining < neededByteCount else { return }
        func mebibytes(_ byteCount: UInt64) -> String { "\((byteCount + (1 << 20) - 1) >> 20) MiB" }
        throw LogError(
            .unreadable,
            "The limit of this process's address space leaves \(mebibytes(remaining)), and it needs "
                + "\(mebibytes(neededByteCount)). Raise the limit: `ulimit -v unlimited`.",
            path: path
        )
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

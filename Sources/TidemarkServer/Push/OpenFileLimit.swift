// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// The number of files and sockets that the process may have open.
enum OpenFileLimit {
    /// Raises the limit to the maximum for the process, and returns it; `nil` if the system does
    /// not report it.
    @discardableResult
    static func raise() -> Int? {
        #if canImport(Glibc)
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        #else
        let resource = RLIMIT_NOFILE
        #endif
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { return nil }
        if limit.rlim_cur < limit.rlim_max {
            var raised = limit
            raised.rlim_cur = limit.rlim_max
            #if canImport(Darwin)
            // The system refuses higher values, whatever the hard limit is.
            raised.rlim_cur = min(limit.rlim_max, rlim_t(OPEN_MAX))
            #endif
            if setrlimit(resource, &raised) == 0 { limit = raised }
        }
        return Int(clamping: limit.rlim_cur)
    }
}
#endif

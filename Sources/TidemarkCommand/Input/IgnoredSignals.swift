// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// The signals that the command ignores, and that a command which it runs gets back.
enum IgnoredSignals {
    /// The signals of a closed pipe, and of a write beyond the limit of file sizes: the write
    /// itself fails.
    static let all = [SIGPIPE, SIGXFSZ]
}

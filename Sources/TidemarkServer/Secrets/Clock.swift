// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import Foundation

/// The time, in milliseconds since 1970.
enum Clock {
    static func now() -> Int64 { Int64(Date().timeIntervalSince1970 * 1000) }
}
#endif

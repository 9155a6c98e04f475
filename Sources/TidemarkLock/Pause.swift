// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// Stops the calling thread for some time.
///
/// The time passes although the machine's clock is set: on Linux, waiting for a semaphore would take
/// longer by as much as the clock goes back.
package func pauseThread(for duration: Duration) {
    let (seconds, attoseconds) = duration.components
    var time = timespec(tv_sec: Int(seconds), tv_nsec: Int(attoseconds / 1_000_000_000))
    var rest = timespec()
    // A signal ends a pause early.
    while nanosleep(&time, &rest) == -1, errno == EINTR { time = rest }
}

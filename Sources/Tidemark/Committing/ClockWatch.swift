// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLock
package import TidemarkLog
package import TidemarkModel

/// Distinguishes a clock that was set from time that has passed.
///
/// The times of commits never go back, and lifetimes are measured by the clock. If the clock is
/// wrong by years, one commit would give its time to all later ones, and one compaction would drop
/// recent data.
package final class ClockWatch: Sendable {
    private struct Reading {
        var time: Int64
        var uptime: Int64
    }

    private let environment: LogEnvironment
    /// Milliseconds.
    private let limit: Int64?
    /// The last reading that was accepted.
    private let last: Lock<Reading?>

    /// Begins with the current reading of the clock; a jump of more than `limit` milliseconds is
    /// rejected.
    package init(_ environment: LogEnvironment, limit: Int64?) {
        self.environment = environment
        self.limit = limit
        last = Lock(environment.uptime.map { Reading(time: environment.now(), uptime: $0()) })
    }

    /// Throws `serviceUnavailable` if the clock, which read `time` a moment ago, was set since it
    /// was last accepted.
    package func check(_ time: Int64) throws(SyncError) {
        // Without an uptime clock, a clock that was set cannot be distinguished from time that has
        // passed.
        guard let limit, let uptime = environment.uptime?() else { return }
        // The difference between elapsed clock time and elapsed uptime is the amount by which the
        // clock was set. A rejected reading is not kept, so commits fail until the clock is right
        // again.
        let jump = last.withLock { last in
            let before = last ?? Reading(time: time, uptime: uptime)
            let jump = time.subtractingSaturated(before.time)
                .subtractingSaturated(uptime - before.uptime)
            if jump.magnitude <= limit.magnitude { last = Reading(time: time, uptime: uptime) }
            return jump
        }
        guard jump.magnitude > limit.magnitude else { return }
        throw SyncError(
            .serviceUnavailable,
            "The machine's clock was set \(Self.text(jump.magnitude)) "
                + "\(jump > 0 ? "ahead" : "back") while the store was open, and nothing was changed.",
            remedy: "Set the clock right. If it is right now, open the store again."
        )
    }

    /// Milliseconds as the largest unit of which there are two or more.
    private static func text(_ milliseconds: UInt64) -> String {
        let units: [(name: String, seconds: UInt64)] = [
            ("years", 31_556_952), ("days", 86_400), ("hours", 3600), ("minutes", 60),
        ]
        let seconds = milliseconds / 1000
        for unit in units where seconds >= 2 * unit.seconds {
            return "\(seconds / unit.seconds) \(unit.name)"
        }
        return "\(seconds) seconds"
    }
}

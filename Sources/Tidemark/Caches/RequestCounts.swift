// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkModel

/// Recent and pending requests by user and device, from which throttling is decided.
///
/// Pure: times are arguments, and a rejection carries the time to wait.
struct RequestCounts: Sendable {
    /// One user at one device.
    private struct Device: Hashable {
        var user: UserID?
        var name: Name?
    }

    /// The number of requests that a device may still make, as of a time.
    private struct Bucket {
        var left: Double
        /// Milliseconds since 1970.
        var time: Int64
    }

    /// More devices than this are not kept apart for long.
    private static let deviceLimit = 10_000

    private var buckets: [Device: Bucket] = [:]
    /// The number of devices that triggers the next sweep of devices that need not be counted
    /// separately.
    private var sweepCount = Self.deviceLimit
    private var writeCount = 0
    private var writeCounts: [ZoneIdentity: Int] = [:]

    /// Counts a request; returns after how many seconds it may come again if it is too many.
    mutating func take(_ caller: Caller, _ rate: Throttling.Rate, at time: Int64) -> Double? {
        let capacity = Double(max(rate.requestCount, 1))
        // At least a millisecond, because a period of zero would make the rate infinite.
        let perMillisecond = capacity / (max(rate.period.inSeconds, 0.001) * 1000)
        let device = Device(user: caller.user, name: caller.device.map { Name($0) })
        var bucket = buckets[device] ?? Bucket(left: capacity, time: time)
        // A clock that was set back neither adds nor removes requests.
        let passed = Double(max(time - bucket.time, 0))
        bucket.left = min(bucket.left + passed * perMillisecond, capacity)
        bucket.time = time
        // A rejected request takes nothing from the bucket. So a client that retries too early does
        // not extend its own wait.
        let isAllowed = bucket.left >= 1
        if isAllowed { bucket.left -= 1 }
        if buckets.count >= sweepCount, buckets[device] == nil {
            // A device with a full bucket is equivalent to a device that never made a request.
            buckets = buckets.filter { _, other in
                other.left + Double(max(time - other.time, 0)) * perMillisecond < capacity
            }
            // Names of devices come from clients, and a look costs as much as there are.
            sweepCount = max(Self.deviceLimit, 2 * buckets.count)
        }
        buckets[device] = bucket
        return isAllowed ? nil : (1 - bucket.left) / perMillisecond / 1000
    }

    /// The reason why a write cannot begin.
    enum Refusal: Hashable {
        case store
        case zone(ZoneIdentity)
    }

    /// Begins a write, unless too many are running.
    mutating func begin(_ zones: [ZoneIdentity], _ limits: Throttling) -> Refusal? {
        // Both limits are checked before any count changes, so a rejected write has nothing to take
        // back.
        if let limit = limits.writesPerStore, writeCount >= limit { return .store }
        if let limit = limits.writesPerZone,
            let busy = zones.first(where: { writeCounts[$0, default: 0] >= limit })
        {
            return .zone(busy)
        }
        writeCount += 1
        for zone in zones { writeCounts[zone, default: 0] += 1 }
        return nil
    }

    /// Ends a write that was begun.
    mutating func end(_ zones: [ZoneIdentity]) {
        writeCount -= 1
        for zone in zones {
            let count = writeCounts[zone, default: 0] - 1
            writeCounts[zone] = count > 0 ? count : nil
        }
    }
}

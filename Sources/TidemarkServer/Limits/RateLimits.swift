// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import Tidemark
import TidemarkLock
import TidemarkModel
import TidemarkWire

/// The kinds of rate limits.
public enum RateLimited: String, CaseIterable, Hashable, Sendable {
    /// Requests with one API token.
    case token
    /// Requests that one server-to-server key signed.
    case key
    /// Requests of one user.
    case user
    /// Requests of one device of a user.
    case device
    /// Requests from one address.
    case address
    /// Attempts to sign in, from one address and to one account.
    case signIn = "sign-in"
}

/// The rate limits of requests.
///
/// A rate of a number in a period is a bucket that holds this number and fills within the period.
final class RateLimits: Sendable {
    private let rates: [RateLimited: Throttling.Rate]
    /// The time at which each bucket is full again, in nanoseconds.
    private let fullTimes = Lock([Bucket: Int64]())
    private let start = ContinuousClock.now

    private struct Bucket: Hashable {
        let kind: RateLimited
        let name: String
    }

    /// The maximum number of buckets.
    private static let bucketLimit = 100_000

    init(_ rates: [RateLimited: Throttling.Rate]) {
        self.rates = rates.filter { $0.value.requestCount > 0 && $0.value.period > .zero }
    }

    /// Takes one token from a bucket; throws if it is empty.
    func take(_ kind: RateLimited, of name: @autoclosure () -> String?) throws(WebError) {
        guard rates[kind] != nil, let name = name() else { return }
        // A clock that cannot be set: a change of the wall clock neither fills nor empties buckets.
        let now = (ContinuousClock.now - start).nanoseconds
        guard let wait = wait(kind, name, now: now) else { return }
        throw .throttled(
            "There were too many requests of one \(kind.rawValue). Wait, then repeat the request.",
            retryAfter: Int((wait + 999_999_999) / 1_000_000_000)
        )
    }

    /// Counts a request of a caller in each limit of callers.
    func take(_ caller: Caller) throws(WebError) {
        // A key has one user, so the limit of users would count the same requests. Programs that
        // sign are not limited by device.
        if case .serverKey(let id) = caller.authentication { return try take(.key, of: id) }
        guard let user = caller.user?.userRecordName else { return }
        try take(.user, of: user)
        // A client chooses the name of its device, and can choose another for every request. Only
        // the limit of users bounds what a user can send.
        try take(.device, of: "\(user) \(caller.device ?? "")")
    }

    /// Takes one token from a bucket, or returns the nanoseconds until it has one.
    func wait(_ kind: RateLimited, _ name: String, now: Int64) -> Int64? {
        guard let rate = rates[kind] else { return nil }
        let period = rate.period.nanoseconds
        let each = max(period / Int64(rate.requestCount), 1)
        return fullTimes.withLock { fullTimes in
            let bucket = Bucket(kind: kind, name: name)
            // One number describes a bucket: each request moves the time at which it is full again
            // by `each`. A bucket that has been full for some time counts from the present, and
            // needs no entry.
            let full = max(fullTimes[bucket] ?? now, now) + each
            // With this request, an empty bucket would need more than a period to fill again. A
            // request that is turned away does not change the bucket.
            guard full - now <= max(period, each) else { return full - now - period }
            if fullTimes.count >= Self.bucketLimit {
                fullTimes = fullTimes.filter { $0.value > now }
                // Memory has priority: an attacker with enough names to fill the table resets all
                // buckets.
                if fullTimes.count >= Self.bucketLimit { fullTimes = [:] }
            }
            fullTimes[bucket] = full
            return nil
        }
    }
}

extension Duration {
    /// The duration in nanoseconds, at most a quarter of the maximum of `Int64`, so that sums of a
    /// few durations do not overflow.
    fileprivate var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        // Before the rest is added, because that may overflow too.
        guard !overflow, product < .max / 4 else { return .max / 4 }
        return product + attoseconds / 1_000_000_000
    }
}
#endif

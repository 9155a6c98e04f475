// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// When a store asks callers to wait.
///
/// Nothing is limited unless it is set.
public struct Throttling: Hashable, Sendable {
    /// So many requests in so much time.
    ///
    /// They may come all at once; then more are allowed as time passes.
    public struct Rate: Hashable, Sendable {
        /// How many requests.
        public var requestCount: Int
        /// In which time.
        public var period: Duration

        /// Describes a rate.
        public init(_ requestCount: Int, per period: Duration) {
            self.requestCount = requestCount
            self.period = period
        }
    }

    /// What one user may ask from one device; more is `requestRateLimited`, with the time until the
    /// next request is allowed.
    public var requestsPerDevice: Rate?
    /// How many requests may write one zone at a time; more is `zoneBusy`.
    public var writesPerZone: Int?
    /// How many requests may write the store at a time; more is `serviceUnavailable`.
    public var writesPerStore: Int?
    /// How long callers are asked to wait where nobody knows how long it will take.
    public var retryAfter = Duration.seconds(1)

    /// No limits.
    public init() {}
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The limits beyond which a store asks callers to wait.
///
/// Nothing is limited unless it is set.
public struct Throttling: Hashable, Sendable {
    /// A number of requests per time.
    ///
    /// They may come all at once; then further ones are allowed as time passes.
    public struct Rate: Hashable, Sendable {
        /// The number of requests.
        public var requestCount: Int
        /// In which time.
        public var period: Duration

        /// Describes a rate.
        public init(_ requestCount: Int, per period: Duration) {
            self.requestCount = requestCount
            self.period = period
        }
    }

    /// The rate of requests for one user on one device.
    ///
    /// A request beyond it fails with `requestRateLimited` and the time until the next request is
    /// allowed.
    public var requestsPerDevice: Rate?
    /// The number of requests that may write one zone at a time; further ones fail with `zoneBusy`.
    public var writesPerZone: Int?
    /// The number of requests that may write the store at a time; further ones fail with
    /// `serviceUnavailable`.
    public var writesPerStore: Int?
    /// The time that callers are asked to wait if the required time is unknown.
    public var retryAfter = Duration.seconds(1)

    /// No limits.
    public init() {}
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
/// The duration of the attempts to reach a webhook.
public struct WebhookPatience: Hashable, Sendable {
    /// The pause after the first failure; each further one doubles it.
    public var firstPause = Duration.seconds(5)
    /// The longest pause.
    public var longestPause = Duration.seconds(60 * 60)
    /// The time of failures after which a webhook is disabled.
    public var limit = Duration.seconds(24 * 60 * 60)

    /// Creates a day.
    public init() {}

    /// Returns the pause after a number of consecutive failures.
    ///
    /// It is a random part between half of the delay and all of it, so that not all webhooks retry
    /// at once.
    func pause(after failures: Int) -> Duration {
        // The exponent is limited, because a shift by 63 places gives a negative number, and by
        // more gives zero. `failures` is at least one.
        let pause = min(firstPause * (1 << min(failures - 1, 20)), longestPause)
        return pause * Double.random(in: 0.5...1)
    }
}
#endif

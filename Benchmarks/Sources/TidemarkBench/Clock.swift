// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Contenders

extension Contender {
    /// Saves some commits, and returns the seconds that it took.
    ///
    /// Releasing the commits is no part of it, as preparing them is none.
    func seconds(saving commits: [Prepared]) async throws -> Double {
        let start = ContinuousClock.now
        for commit in commits { try await save(commit) }
        let seconds = start.secondsUntilNow
        withExtendedLifetime(commits) {}
        return seconds
    }
}

extension ContinuousClock.Instant {
    var secondsUntilNow: Double {
        let passed = duration(to: .now).components
        return Double(passed.seconds) + Double(passed.attoseconds) / 1e18
    }

    var microsecondsUntilNow: Double { secondsUntilNow * 1e6 }
}

extension [Double] {
    /// The value in the middle, or the mean of the two there; zero for none.
    var median: Double {
        guard !isEmpty else { return 0 }
        let ordered = sorted()
        return (ordered[(count - 1) / 2] + ordered[count / 2]) / 2
    }
}

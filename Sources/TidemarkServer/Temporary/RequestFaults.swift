// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import TidemarkLock

/// The faults of a temporary server: delayed, throttled and unanswered requests.
///
/// The fate of a request follows from the seed, its path and the number of earlier requests to this
/// path. So it does not depend on concurrent requests to other paths.
package struct RequestFaults: Hashable, Sendable {
    /// The share of requests that are answered `THROTTLED`, from zero to one.
    package var throttledShare = 0.0
    /// The share of requests whose connection is closed without an answer; half of them are carried
    /// out before.
    package var lostShare = 0.0
    /// The longest wait of a request; each request waits a random part of it.
    package var latency = Duration.zero
    /// The seed of all faults.
    package var seed: UInt64 = 0

    /// No faults.
    package init() {}

    /// The fate of one request.
    struct Fate: Hashable {
        enum End {
            case answered, throttled, requestLost, answerLost
        }

        var wait: Duration
        var end: End
    }

    /// Returns the fate of a request with a number among those to its path.
    func fate(ofRequest number: UInt64, to path: String) -> Fate {
        // FNV-1a from the seed on: a hash that is the same in every process.
        var state = seed ^ 0xCBF2_9CE4_8422_2325
        for byte in path.utf8 { state = (state ^ UInt64(byte)) &* 0x100_0000_01B3 }
        state ^= number &* 0xD6E8_FEB8_6659_FD93
        // Every request draws all four numbers. A change of one share therefore does not change
        // which requests the other faults hit.
        let wait = latency * Self.unit(&state)
        let isThrottled = Self.unit(&state) < throttledShare
        let isLost = Self.unit(&state) < lostShare
        let isDone = Self.unit(&state) < 0.5
        let lost = isDone ? Fate.End.answerLost : .requestLost
        return Fate(wait: wait, end: isThrottled ? .throttled : isLost ? lost : .answered)
    }

    /// Returns a number from zero to less than one, by SplitMix64.
    private static func unit(_ state: inout UInt64) -> Double {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return Double((mixed ^ mixed >> 31) >> 11) / Double(1 << 53)
    }
}

/// The faults of a server, and the number of requests to each path so far.
final class RequestCounts: Sendable {
    private let faults: RequestFaults
    private let counts = Lock<[String: UInt64]>([:])

    init(_ faults: RequestFaults) {
        self.faults = faults
    }

    /// Returns the fate of the next request to a path; `nil` for pages, metrics and health, which
    /// have no faults.
    func next(to path: String) -> RequestFaults.Fate? {
        guard
            ["/database/", "/device/", "/tidemark/", "/assets/", "/courier/"]
                .contains(where: path.hasPrefix)
        else { return nil }
        // The rest of the path of an asset or a courier differs in each run.
        let known =
            ["/assets/up/", "/assets/", "/courier/"].first(where: path.hasPrefix)
            .map { String($0.dropLast()) } ?? path
        let number = counts.withLock { counts in
            counts[known, default: 0] += 1
            return counts[known] ?? 0
        }
        return faults.fate(ofRequest: number, to: known)
    }
}
#endif

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The processor time that others took from this process while it did one repetition.
struct Disturbance: Encodable {
    /// Times that the system took a processor away from a thread of this process.
    var involuntarySwitchCount = 0.0
    /// Time in milliseconds that the host gave to other machines, over all processors.
    var stolenMilliseconds = 0.0
    var elapsedSeconds = 0.0
    /// The ``ProcessorDistance`` at its start and at its end, the longer one; `nil` if it is not known.
    var distanceNanoseconds: Double?

    /// True if the repetition should be repeated.
    ///
    /// The bounds are chosen, not measured: 200 switches a second, or 1 % of a processor stolen, each
    /// with an allowance for short repetitions.
    var isLarge: Bool {
        involuntarySwitchCount > 200 * elapsedSeconds + 10
            || stolenMilliseconds > 10 * elapsedSeconds + 10
    }

    /// The key that orders repetitions, calmest first.
    ///
    /// A stolen millisecond counts as much as 20 switches, which is a choice too.
    var weight: Double { (involuntarySwitchCount + 20 * stolenMilliseconds) / elapsedSeconds }
}

/// The counters of the system at the start of a repetition.
struct DisturbanceProbe {
    private let distance = ProcessorDistance.measure()
    private let start = ContinuousClock.now
    private let switchCount = Self.involuntarySwitchCount
    private let stolen = Self.stolenMilliseconds

    /// The disturbance since the probe was made.
    var sinceStart: Disturbance {
        Disturbance(
            involuntarySwitchCount: Double(Self.involuntarySwitchCount - switchCount),
            stolenMilliseconds: Self.stolenMilliseconds - stolen,
            elapsedSeconds: start.secondsUntilNow,
            distanceNanoseconds: [distance, ProcessorDistance.measure()].compactMap(\.self).max()
        )
    }

    private static var involuntarySwitchCount: Int {
        var usage = rusage()
        #if canImport(Glibc)
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        #else
        getrusage(RUSAGE_SELF, &usage)
        #endif
        return Int(usage.ru_nivcsw)
    }

    /// The eighth figure of the first line of `/proc/stat`, in hundredths of a second; zero on other
    /// systems.
    private static var stolenMilliseconds: Double {
        guard let text = try? String(contentsOfFile: "/proc/stat", encoding: .utf8) else {
            return 0
        }
        let line = text.prefix { $0 != "\n" }.split(separator: " ")
        return line.count > 8 ? (Double(line[8]) ?? 0) * 10 : 0
    }
}

extension [Disturbance] {
    /// The median of each count.
    var median: Disturbance {
        let distances = compactMap(\.distanceNanoseconds)
        return Disturbance(
            involuntarySwitchCount: map(\.involuntarySwitchCount).median,
            stolenMilliseconds: map(\.stolenMilliseconds).median,
            elapsedSeconds: map(\.elapsedSeconds).median,
            distanceNanoseconds: distances.isEmpty ? nil : distances.median
        )
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLog

/// What is left after a crash.
package enum CrashOutcome: Hashable, Sendable {
    /// Power is lost, and with it everything that no sync promised.
    case losingEverythingUnsynced
    /// Power is lost just after everything happened to reach the medium.
    case keepingEverything
    /// Power is lost, and a generator with this seed chooses what survives.
    case seeded(UInt64)
    /// Power is lost with exactly these choices, which only ``SimulatedFileSystem``'s
    /// `crashOutcomes` makes, and which mean something only for the state they were made for.
    case choosing([Int])
    /// Only the process ends: what it wrote is seen by the next one, and still at risk.
    case processKilled
}

extension SimulatedFileSystem {
    /// The disk as the next process finds it.
    ///
    /// The new file system has no open files, locks or faults, counts its calls from zero, and
    /// shares nothing with this one, which goes on as if nothing had happened.
    package func crash(_ outcome: CrashOutcome) -> SimulatedFileSystem {
        let (disk, keepsTrace) = state.withLock { ($0.disk, $0.faults.keepsTrace) }
        if outcome == .processKilled {
            return SimulatedFileSystem(disk: disk.withoutOpenFiles(), keepsTrace: keepsTrace)
        }
        let choices = CrashChoices(of: disk)
        let values =
            switch outcome {
            case .losingEverythingUnsynced: choices.nothing
            case .keepingEverything, .processKilled: choices.everything
            case .seeded(let seed): choices.random(seed)
            case .choosing(let values): values
            }
        precondition(
            values.count == choices.sizes.count,
            "the outcome was made for another state"
        )
        return SimulatedFileSystem(disk: choices.disk(choosing: values), keepsTrace: keepsTrace)
    }

    /// The outcomes that a power loss now may have, each once, at most `limit` of them.
    ///
    /// All of them, if they are few enough. Otherwise those that find most: nothing, everything,
    /// only the names, names and lengths without content, content without the names; every prefix
    /// of what happened, everything but one change, nothing but one change; and seeded ones for
    /// at least a quarter of the limit. Where even these are too many, they are taken evenly.
    /// O(limit × unsynced sectors and names).
    package func crashOutcomes(limit: Int, seed: UInt64 = 1) -> [CrashOutcome] {
        CrashChoices(of: state.withLock { $0.disk }).outcomes(limit: limit, seed: seed)
    }
}

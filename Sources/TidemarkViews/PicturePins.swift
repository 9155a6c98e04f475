// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TidemarkLock
import TidemarkLog

/// Who still uses a picture, so that compaction does not take away what it shows.
///
/// Pictures are counted by the era that they were taken in. A compaction begins a new one, and waits
/// until nobody is left in those before it.
package final class PicturePins: Sendable {
    private struct State {
        var era: UInt64 = 0
        /// How many pictures of each era are in use; eras without any are left out.
        var counts: [UInt64: Int] = [:]
    }

    private let state = Lock(State())

    /// Held by a picture for as long as it lives.
    final class Pin: Sendable {
        private let pins: PicturePins
        private let era: UInt64

        fileprivate init(_ pins: PicturePins, era: UInt64) {
            self.pins = pins
            self.era = era
        }

        deinit { pins.release(era) }
    }

    package init() {}

    /// Says that a picture is taken.
    func pin() -> Pin {
        let era = state.withLock { state in
            state.counts[state.era, default: 0] += 1
            return state.era
        }
        return Pin(self, era: era)
    }

    private func release(_ era: UInt64) {
        state.withLock { state in
            let count = (state.counts[era] ?? 0) - 1
            state.counts[era] = count > 0 ? count : nil
        }
    }

    /// Begins a new era, and returns it.
    package func beginEra() -> UInt64 {
        state.withLock { state in
            state.era += 1
            return state.era
        }
    }

    /// Whether a picture is in use that was taken before an era.
    package func isAnyLeft(before era: UInt64) -> Bool {
        state.withLock { $0.counts.keys.contains { $0 < era } }
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TidemarkLock
import TidemarkLog

/// The number of pictures in use, so that compaction does not remove events that they show.
///
/// Pictures are counted by the era in which they were taken. A compaction begins a new era, and
/// waits until no picture of an earlier era is in use.
package final class PicturePins: Sendable {
    private struct State {
        var era: UInt64 = 0
        /// The number of pictures in use per era; eras without pictures are left out.
        var counts: [UInt64: Int] = [:]
    }

    private let state = Lock(State())

    /// A pin that a picture holds during its lifetime.
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

    /// Registers a new picture.
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
            // Left out at zero, so that the table has as many entries as there are eras in use.
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

    /// Returns true if a picture taken before an era is in use.
    package func isAnyLeft(before era: UInt64) -> Bool {
        state.withLock { $0.counts.keys.contains { $0 < era } }
    }
}

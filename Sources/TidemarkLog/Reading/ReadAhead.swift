// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLock

/// The blocks that follow those of a long read, decoded before it continues.
///
/// A device fetches one page after another. Meanwhile its last page is sent, and a processor may be
/// free. One long read of a store has this at a time, because each one decodes blocks that nobody may
/// ever want: ``blockCount``, which take about a millisecond.
final class ReadAhead: Sendable {
    /// The number of blocks: as many as the largest usual page has.
    static let blockCount = 192

    private struct State {
        var decoding: SharedDecoding?
        /// The number of reads that wanted to begin since the decoding was given.
        var refusalCount = 0
    }

    private let state = Lock(State())

    /// So many reads begin nothing before the read that does not continue loses its blocks.
    private static let refusalLimit = 3

    deinit { clear() }

    /// Takes the decoding if some blocks continue it; returns it with the index of the first of them.
    func take(_ wanted: [SegmentBlock]) -> (decoding: SharedDecoding, index: Int)? {
        state.withLock { state in
            guard let decoding = state.decoding, let index = decoding.move(to: wanted) else {
                return nil
            }
            state.decoding = nil
            return (decoding, index)
        }
    }

    /// Returns true if a read may begin to decode ahead.
    func mayBegin() -> Bool {
        let isFree = state.withLock { state in
            state.refusalCount += 1
            return state.decoding == nil || state.refusalCount > Self.refusalLimit
        }
        if isFree { clear() }
        return isFree
    }

    /// Keeps a decoding for the read that continues, unless there is one already.
    func give(_ decoding: SharedDecoding) {
        let isKept = state.withLock { state in
            if state.decoding != nil { return false }
            state = State(decoding: decoding)
            return true
        }
        if !isKept { decoding.end() }
    }

    /// Ends the decoding, and waits until nothing is read any more.
    func clear() {
        let decoding = state.withLock { state in
            defer { state = State() }
            return state.decoding
        }
        decoding?.end()
    }
}

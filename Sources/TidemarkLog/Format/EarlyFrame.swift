// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLock

/// A frame of one commit, which another thread begins to compress while the commit's later events
/// are still being decided.
///
/// Every block repeats what is known only at the commit's end, such as the number of its events. So
/// the blocks are made for a head that the commit will probably have. If it has another one, they
/// are not used.
package final class EarlyFrame: Sendable {
    private struct State {
        /// The head for which the blocks are made; `nil` before the first of them.
        var head: CommitHead?
        /// The events that were gathered, at positions from zero on.
        var builder = FrameBuilder(first: .zero)
        /// The number of blocks that the other thread has.
        var sharedCount = 0
        /// True if the frame was taken or abandoned.
        var isOver = false
    }

    /// Held while the lock of `blocks` is taken, which calls nothing.
    private let state = Lock(State())
    private let blocks: SharedBlocks

    init(_ blocks: SharedBlocks) {
        self.blocks = blocks
    }

    /// Gathers a draft's events from an index on, and has the blocks compressed that are complete.
    ///
    /// Returns the number of gathered events; `nil` if the frame does not hold just the events
    /// before, because another copy of the draft has grown.
    func gather(_ draft: CommitDraft, from index: Int, eventCount: Int) -> Int? {
        state.withLock { state in
            guard !state.isOver, state.builder.positionCount == index else { return nil }
            let head = state.head ?? CommitHead(draft, eventCount: eventCount)
            state.head = head
            state.builder.append(eventsOf: draft, head)
            for block in state.builder.completeBlocks.dropFirst(state.sharedCount) {
                blocks.add(block.raw)
                state.sharedCount += 1
            }
            return state.builder.positionCount
        }
    }

    /// Returns the frame that a draft begins at a position, with all of its events; `nil` if the
    /// draft has another head than the blocks, or they do not hold its events before an index.
    func builder(
        of draft: CommitDraft,
        from index: Int,
        at first: SequenceNumber
    ) -> FrameBuilder? {
        let head = CommitHead(draft, eventCount: draft.events.count)
        // Taken, so that its bytes have one owner, and are not copied.
        return state.withLock { state in
            guard !state.isOver, state.head == head, state.builder.positionCount == index else {
                abandon(&state)
                return nil
            }
            state.builder.append(eventsOf: draft, head)
            state.builder.move(to: first, blocks)
            defer { state = State(isOver: true) }
            return state.builder
        }
    }

    /// Ends the work on blocks that are not used.
    func abandon() { state.withLock { abandon(&$0) } }

    private func abandon(_ state: inout State) {
        state = State(isOver: true)
        blocks.abandon()
    }
}

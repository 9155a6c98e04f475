// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// Marks a place in each event of a decoded block, or an earlier position, for readers of many events.
///
/// The log cannot read payloads. A marker reads the beginning of each once, when the block is decoded: in the
/// cache of that processor, and mostly not on the thread of the reader. Readers then need not wait for memory
/// at each event.
package struct EventMarker: Sendable {
    /// A function that sets the marks of the events of a block, whose first position is given.
    package typealias Function =
        @Sendable (
            _ block: RawSpan, _ first: SequenceNumber, _ rows: inout MutableSpan<EventRow>
        ) -> Void

    let mark: Function?

    package init(_ mark: Function?) {
        self.mark = mark
    }

    /// Marks nothing.
    package static let none = EventMarker(nil)
}

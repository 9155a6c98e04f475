// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel

/// The identity of a line of a change stream: `Docs/formats/changes.md`, "Content".
struct LineIdentity {
    /// The prefix of an id derived from the line; the number of earlier occurrences of the content
    /// follows.
    let idStem: String
    /// A hash of the line without its time and its id: an export may have raised the one and named
    /// the other.
    let contentHash: UInt64

    init(_ line: ChangeStreamLine) {
        var line = line
        line.requestID = nil
        var content: [UInt8] = []
        line.appendContent(to: &content)
        let hash = xxh3Wide(content.span.bytes, seed: 0)
        idStem = DerivedID.stem(high: hash.high, low: hash.low)
        content.store(integer: UInt64(0), at: Self.timeOffset)
        contentHash = xxh3(content.span.bytes, seed: 0)
    }

    /// The offset of the time in a line's content.
    private static let timeOffset = 1
}

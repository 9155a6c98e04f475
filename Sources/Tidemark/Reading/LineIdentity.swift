// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel

/// What a line of a change stream is known by: `Docs/formats/changes.md`, "Content".
struct LineIdentity {
    /// How an id begins that is derived from the line; how often the same content came before
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

    /// Where the time lies in a line's content.
    private static let timeOffset = 1
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkLog
package import TidemarkModel

/// What a change tag says to the store that made it: the position of the record's last event, and
/// the low half of the incarnation that wrote it, both in base 36 with a hyphen between.
package struct TagContent: Hashable, Sendable {
    /// Position of the record's last event.
    package var sequence: SequenceNumber
    /// The low 32 bits of the incarnation that wrote it.
    package var incarnationBits: UInt32

    package init(sequence: SequenceNumber, incarnationBits: UInt32) {
        self.sequence = sequence
        self.incarnationBits = incarnationBits
    }

    /// The tag of a version that this line wrote.
    package init(of sequence: SequenceNumber, in line: IncarnationLine) {
        self.init(
            sequence: sequence,
            incarnationBits: UInt32(
                truncatingIfNeeded: line.incarnation(of: sequence).rawValue
            )
        )
    }

    /// Reads a tag; `nil` if no store made it.
    ///
    /// Only the one form that is written is read.
    package init?(_ tag: RecordChangeTag) {
        let content = tag.name.withBytes { utf8 -> TagContent? in
            var digits = Base36Reader(utf8: utf8)
            guard let sequence = digits.next(before: UInt8(ascii: "-")), sequence > 0,
                let bits = digits.next(before: nil), let bits = UInt32(exactly: bits)
            else { return nil }
            return TagContent(
                sequence: SequenceNumber(rawValue: sequence),
                incarnationBits: bits
            )
        }
        guard let content else { return nil }
        self = content
    }

    /// The tag for clients.
    package var tag: RecordChangeTag {
        RecordChangeTag(sequence: sequence.rawValue, incarnationBits: incarnationBits)
    }

    /// Whether a version of this store's line is meant.
    package func matches(_ sequence: SequenceNumber, in line: IncarnationLine) -> Bool {
        self == TagContent(of: sequence, in: line)
    }
}

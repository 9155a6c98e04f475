// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkLog
package import TidemarkModel

/// The content of a change tag: the position of the record's last event, and the low half of its
/// incarnation, both in base 36 with a hyphen between them.
package struct TagContent: Hashable, Sendable {
    /// The position of the record's last event.
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

    /// Parses a tag; `nil` if no store made the tag.
    ///
    /// Only the canonical form is accepted.
    package init?(_ tag: RecordChangeTag) {
        // Position 0 stands for no event, so no version has it.
        guard let version = tag.version, version.sequence > 0 else { return nil }
        self.init(
            sequence: SequenceNumber(rawValue: version.sequence),
            incarnationBits: version.incarnationBits
        )
    }

    /// The tag for clients.
    package var tag: RecordChangeTag {
        RecordChangeTag(sequence: sequence.rawValue, incarnationBits: incarnationBits)
    }

    /// Returns true if the tag is of a version in this store's line.
    package func matches(_ sequence: SequenceNumber, in line: IncarnationLine) -> Bool {
        // The position alone does not decide: another line of the store may have given it to
        // another version.
        self == TagContent(of: sequence, in: line)
    }
}

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
    package var tag: RecordChangeTag { RecordChangeTag(text) }

    /// Made once per record of every delta: written in one go, and mostly short enough (15 bytes)
    /// to need no memory of its own.
    private var text: String {
        let split = Base36.digitCount(of: sequence.rawValue)
        let end = split + 1 + Base36.digitCount(of: UInt64(incarnationBits))
        return String(unsafeUninitializedCapacity: end) { buffer in
            Base36.write(sequence.rawValue, to: buffer, endingAt: split)
            buffer[split] = UInt8(ascii: "-")
            Base36.write(UInt64(incarnationBits), to: buffer, endingAt: end)
            return end
        }
    }

    /// Whether a version of this store's line is meant.
    package func matches(_ sequence: SequenceNumber, in line: IncarnationLine) -> Bool {
        self == TagContent(of: sequence, in: line)
    }
}

/// Numbers in base 36: digits, then lower-case letters, without leading zeros.
private enum Base36 {
    private static let digits: StaticString = "0123456789abcdefghijklmnopqrstuvwxyz"

    /// How many digits a number has.
    @inline(__always)
    static func digitCount(of number: UInt64) -> Int {
        var count = 1
        var limit: UInt64 = 36
        while number >= limit {
            count += 1
            let (next, overflow) = limit.multipliedReportingOverflow(by: 36)
            if overflow { break }
            limit = next
        }
        return count
    }

    /// Writes a number so that its last digit comes before a place.
    @inline(__always)
    static func write(
        _ number: UInt64,
        to buffer: UnsafeMutableBufferPointer<UInt8>,
        endingAt end: Int
    ) {
        var rest = number
        var place = end
        repeat {
            place -= 1
            buffer[place] = digits.utf8Start[Int(rest % 36)]
            rest /= 36
        } while rest > 0
    }

    /// The value of a digit; `nil` if it is none.
    static func value(of byte: UInt8) -> UInt64? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt64(byte - UInt8(ascii: "0"))
        case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt64(byte - UInt8(ascii: "a")) + 10
        default: nil
        }
    }
}

/// Reads numbers in the one form in which they are written.
private struct Base36Reader {
    let utf8: UnsafeBufferPointer<UInt8>
    private var offset = 0

    init(utf8: UnsafeBufferPointer<UInt8>) {
        self.utf8 = utf8
    }

    /// The number that ends before a byte, which is passed over too, or at the end.
    mutating func next(before end: UInt8?) -> UInt64? {
        var number: UInt64 = 0
        var digitCount = 0
        while offset < utf8.count {
            let byte = utf8[offset]
            offset += 1
            if byte == end { break }
            guard let value = Base36.value(of: byte), digitCount == 0 || number > 0 else {
                return nil
            }
            let (product, overflow) = number.multipliedReportingOverflow(by: 36)
            let (sum, carry) = product.addingReportingOverflow(value)
            guard !overflow, !carry else { return nil }
            number = sum
            digitCount += 1
        }
        return digitCount > 0 ? number : nil
    }
}

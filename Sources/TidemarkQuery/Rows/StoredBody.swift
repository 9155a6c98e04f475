// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkModel

/// A record's body in the form of its row: the sequence number of its event, a checksum, and the
/// body's bytes.
///
/// They are one value, because SQLite needs more time for each further column of a row.
enum StoredBody {
    /// The offset of the body's bytes, after two little-endian words.
    private static let bodyOffset = 16

    /// Replaces bytes by the stored form of a body.
    static func encode(_ body: RecordBody, at sequence: UInt64, into stored: inout [UInt8]) {
        let checksum = Self.checksum(of: body.bytes.span.bytes, at: sequence)
        stored.removeAll(keepingCapacity: true)
        withUnsafeBytes(of: (sequence.littleEndian, checksum.littleEndian)) {
            stored.append(contentsOf: $0)
        }
        stored.append(contentsOf: body.bytes)
    }

    /// Appends a stored body's bytes to others, and returns the sequence number of its event.
    ///
    /// Throws if the stored bytes are missing, or are not those that were written.
    static func append(
        _ stored: UnsafeRawBufferPointer,
        to bytes: inout [UInt8]
    ) throws(QueryIndexError) -> UInt64 {
        guard stored.count >= bodyOffset else {
            throw QueryIndexError(.damaged, "The query index has no body of a record.")
        }
        let sequence = word(of: stored, at: 0)
        let body = UnsafeRawBufferPointer(rebasing: stored[bodyOffset...])
        // The frame first: only bytes with a frame are enough for a checksum.
        guard RecordBody.isFramed(body.bytes, from: 0),
            checksum(of: body.bytes, at: sequence) == word(of: stored, at: 8)
        else {
            throw QueryIndexError(
                .damaged,
                "The query index has no sound body of event \(sequence)."
            )
        }
        // As typed memory, which an array copies at once.
        bytes.append(contentsOf: body.assumingMemoryBound(to: UInt8.self))
        return sequence
    }

    /// Returns the checksum of a body's bytes, because SQLite does not check the data that it reads.
    ///
    /// There must be at least eight bytes, as every body has. Each step is a bijection, so that a
    /// change within one word is always found.
    private static func checksum(of bytes: RawSpan, at sequence: UInt64) -> UInt64 {
        bytes.withUnsafeBytes { bytes in
            // Four chains: a processor multiplies for one while it waits for the product of another.
            var chain = (mix(sequence, UInt64(bytes.count)), 1 as UInt64, 2 as UInt64, 3 as UInt64)
            let last = bytes.count - 8
            var offset = 0
            while offset < last - 24 {
                chain.0 = mix(chain.0, word(of: bytes, at: offset))
                chain.1 = mix(chain.1, word(of: bytes, at: offset + 8))
                chain.2 = mix(chain.2, word(of: bytes, at: offset + 16))
                chain.3 = mix(chain.3, word(of: bytes, at: offset + 24))
                offset += 32
            }
            while offset < last {
                chain.0 = mix(chain.0, word(of: bytes, at: offset))
                offset += 8
            }
            // The last eight bytes, some of which the word before may have too.
            let end = mix(chain.0, word(of: bytes, at: last))
            return mix(mix(mix(end, chain.1), chain.2), chain.3)
        }
    }

    private static func mix(_ hash: UInt64, _ word: UInt64) -> UInt64 {
        let sum = hash ^ word
        // A multiplication only carries changes to higher bits. The rotation is not by whole bytes,
        // so that a changed byte which is in both of the last two words does not cancel itself.
        // It is before the multiplication: behind it, LLVM makes two multiplications of both.
        return (sum << 29 | sum >> 35) &* 0xD6E8_FEB8_6659_FD93
    }

    private static func word(of bytes: UnsafeRawBufferPointer, at offset: Int) -> UInt64 {
        UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }
}

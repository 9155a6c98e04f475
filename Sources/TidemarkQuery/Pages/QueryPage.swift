// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkModel

/// A record that may be on a query's page.
package struct IndexedRecord: Sendable {
    /// The sequence number of the event that saved it.
    package let sequence: UInt64
    /// Its zone's key.
    package let zone: UInt64
    /// The record.
    package let body: RecordBody
}

extension RecordBody {
    /// Returns the checksum of a body, because SQLite does not check the data that it reads.
    func checksum(at sequence: UInt64) -> Int64 {
        Self.checksum(of: bytes.span.bytes, at: sequence)
    }

    /// Returns the checksum of a body's bytes.
    static func checksum(of bytes: RawSpan, at sequence: UInt64) -> Int64 {
        bytes.withUnsafeBytes { bytes in
            // Not outside of the closure: every access to a captured variable would be checked.
            var hash = sequence &+ 0x9E37_79B9_7F4A_7C15
            let wordCount = bytes.count / 8
            for index in 0..<wordCount {
                let word = bytes.loadUnaligned(fromByteOffset: index * 8, as: UInt64.self)
                hash = mix(hash, word)
            }
            for byte in bytes[(wordCount * 8)...] { hash = mix(hash, UInt64(byte)) }
            return Int64(bitPattern: hash)
        }
    }

    private static func mix(_ hash: UInt64, _ word: UInt64) -> UInt64 {
        let product = (hash ^ word) &* 0xD6E8_FEB8_6659_FD93
        return product ^ product >> 32
    }
}

/// Records that a query found.
package struct QueryPage: Sendable {
    /// A record that a query found, without its body.
    package struct Row: Sendable {
        /// The sequence number of the event that saved it.
        package let sequence: UInt64
        /// Its zone's key.
        package let zone: UInt64
        /// The place of its body in the page's bytes.
        let body: Range<Int>
    }

    /// The records, in the query's order.
    package let records: [Row]
    /// The bodies of all records, which share one allocation.
    let bytes: [UInt8]
    /// The cursor of the next page; `nil` at the end.
    package let next: QueryCursor?

    /// Returns the body of one of the page's records.
    package func body(of row: Row) -> RecordBody { RecordBody(sound: bytes[row.body]) }
}

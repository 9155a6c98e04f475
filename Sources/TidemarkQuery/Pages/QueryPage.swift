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

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Workload

/// Small records that are found by query.
package protocol QueriedTasks: AnyObject {
    /// Stores so many records in an empty folder.
    init(_ folder: String, recordCount: Int) async throws

    /// Hands all records of a shelf to the sink, in the order of their names.
    func find(shelf: Int64, into sink: Sink) async throws
    /// Hands the first hundred records that are due at a time or later to the sink, in that order.
    func find(dueFrom time: Int64, into sink: Sink) async throws

    /// How many records a second an index takes in that did not exist; `nil` where an index is never
    /// behind.
    func freshSpeed() async throws -> Double?
    /// How many replaced records a second an index takes in; `nil` where nothing is measured.
    func replacementSpeed(version: Int) async throws -> Double?

    /// How many replaced records a second the table takes in that ``find(shelf:into:)`` and
    /// ``find(dueFrom:into:)`` read, and FTS5 their words; `nil` where nothing is measured.
    func replacementFloor(version: Int) async throws -> Double?

    /// Closes the store.
    func close() async throws
}

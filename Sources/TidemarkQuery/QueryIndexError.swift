// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// Why the query index could not be read or written.
///
/// The index is a cache: whoever meets this deletes its file and builds it anew from the log.
package struct QueryIndexError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What was attempted, what happened, and what to do.
    package let message: String

    /// Describes a failure.
    package init(_ message: String) {
        self.message = message
    }

    /// The message.
    package var description: String { message }

    init(_ attempt: String, _ error: any Error) {
        self =
            (error as? QueryIndexError)
            ?? QueryIndexError(
                "The query index failed while \(attempt): \(error). It holds nothing that the log does "
                    + "not hold; delete its files and it is built anew."
            )
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkLog
package import TidemarkModel

extension SyncError {
    /// Creates the error for an event that a view names and the log does not have.
    package static func missingEvent(_ sequence: SequenceNumber) -> SyncError {
        SyncError(
            .internalError,
            "The zone views name event \(sequence), which the log does not have. Close the store, "
                + "remove its folder \"views\" and open it again: it is rebuilt from the log."
        )
    }

    /// Creates the error for an unusable view index.
    package init(_ error: ViewIndexError) {
        let code: Code = error.reason == .full ? .quotaExceeded : .internalError
        self.init(code, error.message)
    }
}

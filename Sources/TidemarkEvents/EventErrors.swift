// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkLog
package import TidemarkModel

extension SyncError {
    /// Creates the error for an event that cannot be read.
    package init(_ error: EventFormatError) {
        self.init(.internalError, error.message)
    }

    /// Creates the error for a failed log operation.
    package init(_ error: LogError) {
        let code: Code =
            switch error.code {
            case .full: .quotaExceeded
            case .tooLarge: .limitExceeded
            case .newerVersion: .incompatibleVersion
            case .unreadable, .writerFailed, .locked, .readOnly: .serviceUnavailable
            case .corrupted, .notAStore, .foreignFile: .internalError
            case .pruned: .invalidArguments
            case .cancelled: .operationCancelled
            }
        // A `SyncError` has no path, so the place becomes a part of its message.
        let place = error.path.map { path in
            error.offset.map { " (\(path), byte \($0))" } ?? " (\(path))"
        }
        self.init(code, error.message + (place ?? ""), isDiskFull: error.code == .full)
    }
}

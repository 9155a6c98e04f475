// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkModel

extension SyncError {
    /// Returns the result of a closure; converts its error to a request's error.
    @inline(__always)
    static func wrapping<Result>(
        _ body: () throws(EventFormatError) -> Result
    ) throws(SyncError) -> Result {
        do throws(EventFormatError) {
            return try body()
        } catch {
            throw SyncError(error)
        }
    }
}

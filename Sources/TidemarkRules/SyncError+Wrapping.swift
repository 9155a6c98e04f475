// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkModel

extension SyncError {
    /// Returns what a closure returns; throws its failure as that of a request.
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

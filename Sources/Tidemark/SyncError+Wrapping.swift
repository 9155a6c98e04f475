// Tidemark
// SPDX-License-Identifier: Apache-2.0

// The closures say which error they throw, and so which of the three is meant.
// swift-format-ignore-file: AmbiguousTrailingClosureOverload

import TidemarkEvents
import TidemarkLog
import TidemarkModel
import TidemarkViews

// Always inlined, because these are called on the paths of saves and deltas, where a closure must
// cost nothing.
extension SyncError {
    /// Returns the result of a closure; rethrows its error as the error of a request.
    @inline(__always)
    static func wrapping<Result>(
        _ body: () throws(LogError) -> Result
    ) throws(SyncError) -> Result {
        do throws(LogError) {
            return try body()
        } catch {
            throw SyncError(error)
        }
    }

    /// Returns the result of a closure; rethrows its error as the error of a request.
    @inline(__always)
    static func wrapping<Result>(
        _ body: () throws(ViewIndexError) -> Result
    ) throws(SyncError) -> Result {
        do throws(ViewIndexError) {
            return try body()
        } catch {
            throw SyncError(error)
        }
    }

    /// Returns the result of a closure; rethrows its error as the error of a request.
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

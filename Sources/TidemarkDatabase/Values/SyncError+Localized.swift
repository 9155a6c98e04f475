// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import TidemarkModel

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension SyncError: LocalizedError {
    /// The cause and the remedy, for `localizedDescription`.
    public var errorDescription: String? { "\(message) \(remedy)" }

    /// The cause.
    public var failureReason: String? { message }

    /// The remedy.
    public var recoverySuggestion: String? { remedy }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import TidemarkModel

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension SyncError: LocalizedError {
    /// What happened, and what to do: what `localizedDescription` says.
    public var errorDescription: String? { "\(message) \(remedy)" }

    /// What happened.
    public var failureReason: String? { message }

    /// What to do.
    public var recoverySuggestion: String? { remedy }
}

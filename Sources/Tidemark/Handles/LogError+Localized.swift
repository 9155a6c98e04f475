// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import TidemarkLog

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension LogError: LocalizedError {
    /// What was expected, what was found, and what to do: what `localizedDescription` says.
    public var errorDescription: String? { description }

    /// What was expected, what was found, and what to do.
    public var failureReason: String? { message }
}

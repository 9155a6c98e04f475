// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import TidemarkLog

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension LogError: LocalizedError {
    /// The description, which `localizedDescription` answers with.
    public var errorDescription: String? { description }

    /// The message: the expected value, the actual value, and the remedy.
    public var failureReason: String? { message }
}

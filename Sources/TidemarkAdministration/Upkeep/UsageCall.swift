// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import Tidemark
import TidemarkModel

/// Requests the space used by databases.
public struct UsageCall: SingleAnswerCall {
    /// See `AdministrationCall`.
    public static let name = "usage"
    /// See `AdministrationCall`.
    public typealias Answer = [DatabaseUsage]

    /// Describes the call.
    public init() {}

    /// See `SingleAnswerCall`.
    public func answer(from administration: StoreAdministration) async throws -> [DatabaseUsage] {
        try administration.store.usages()
    }
}

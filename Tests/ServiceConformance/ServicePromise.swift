// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Testing

/// A promise of a `DatabaseService`, which every way to a store keeps.
package enum ServicePromise: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case records = "records with fields of every type are returned as they were saved"
    case conflicts = "a conflict carries the server's, the ancestor's and the client's record"
    case items = "items fail alone, or together in an atomic request"
    case requestIDs = "a write is performed once for one request id"
    case deltas = "deltas are returned in pages, limited by records and by bytes"
    case narrowed = "a delta equals the store's, also with desired fields"
    case saves = "saves set parents, remove fields and keep encryption"
    case zones = "zones are listed, reported as changed, and deleted"
    case queries = "queries return records in their order, in pages"
    case assets = "assets are uploaded, held, and downloaded in whole and in part"
    case users = "only discoverable users are found"
    case shares = "a share is created, looked up, accepted and read"
    case subscriptions = "subscriptions are stored, and each change notifies once"
    case accountStatuses = "each account change is reported once"

    /// The promise in words.
    package var testDescription: String { rawValue }

    /// Checks the promise on a store of which nothing was asked yet.
    package func check(_ hosted: some ServiceHosting) async throws {
        switch self {
        case .records: try await records(hosted)
        case .conflicts: try await conflicts(hosted)
        case .items: try await items(hosted)
        case .requestIDs: try await requestIDs(hosted)
        case .deltas: try await deltas(hosted)
        case .narrowed: try await narrowed(hosted)
        case .saves: try await saves(hosted)
        case .zones: try await zones(hosted)
        case .queries: try await queries(hosted)
        case .assets: try await assets(hosted)
        case .users: try await users(hosted)
        case .shares: try await shares(hosted)
        case .subscriptions: try await subscriptions(hosted)
        case .accountStatuses: try await accountStatuses(hosted)
        }
    }
}

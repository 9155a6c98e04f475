// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Testing

/// A promise of a `DatabaseService`, which every way to a store keeps.
package enum ServicePromise: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case records = "records of every type of field come back as they were saved"
    case conflicts = "a conflict carries the server's record, its ancestor and the client's"
    case items = "items fail alone, and together where they are atomic"
    case requestIDs = "a write under one request id is done once"
    case deltas = "deltas come in pages, by records and by bytes"
    case narrowed = "a delta tells what the store tells, also of some fields alone"
    case saves = "saves say all that there is to say"
    case zones = "zones are listed, told of and deleted"
    case queries = "queries are answered in their order, a page at a time"
    case assets = "assets are uploaded, held, and downloaded whole and in part"
    case users = "users are found as they want to be"
    case shares = "a share is made, followed, accepted and read"
    case subscriptions = "subscriptions are kept, and fire without a gap or a repetition"
    case accountStatuses = "changes of an account are told once each"

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

// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The requirements of `CKSyncEngineDelegate`, over types that are declared above this module.
///
/// This module is built without the feature `NonisolatedNonsendingByDefault`. With it, a requirement
/// states where it runs, and the compiler infers that for the method that fulfils it. A delegate on
/// an actor (`@MainActor`) could then not use its own state, and would not compile.
///
/// The names of the associated types become members of each delegate, so they are unlikely ones.
public protocol SyncEngineRequirements: AnyObject, Sendable {
    /// `CKSyncEngine`.
    associatedtype TidemarkEngine: Sendable
    /// `CKSyncEngine.Event`.
    associatedtype TidemarkEvent: Sendable
    /// `CKSyncEngine.SendChangesContext`.
    associatedtype TidemarkSendContext: Sendable
    /// `CKSyncEngine.RecordZoneChangeBatch`.
    associatedtype TidemarkBatch: Sendable
    /// `CKSyncEngine.FetchChangesContext`.
    associatedtype TidemarkFetchContext: Sendable
    /// `CKSyncEngine.FetchChangesOptions`.
    associatedtype TidemarkFetchOptions: Sendable

    /// Something happened.
    func handleEvent(_ event: TidemarkEvent, syncEngine: TidemarkEngine) async

    /// Returns the records to send next; `nil` if there are none.
    func nextRecordZoneChangeBatch(
        _ context: TidemarkSendContext,
        syncEngine: TidemarkEngine
    ) async -> TidemarkBatch?

    /// Returns the zones to fetch; the default is the options of the context.
    func nextFetchChangesOptions(
        _ context: TidemarkFetchContext,
        syncEngine: TidemarkEngine
    ) async -> TidemarkFetchOptions
}

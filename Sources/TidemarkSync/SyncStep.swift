// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import TidemarkModel

/// The next step for the driver of a sync loop, which answers with a ``SyncOutcome``.
public enum SyncStep: Hashable, Sendable {
    /// Wait until a time, in milliseconds since 1970, or until an event; no answer.
    case wait(until: Int64?)
    /// Find the signed-in user: ``SyncOutcome/account(_:)``.
    case checkAccount
    /// Subscribe this device to the server's changes: ``SyncOutcome/done``.
    case subscribe
    /// Notify the app: ``SyncOutcome/done`` when the app has handled the notice.
    case tell(SyncNotice)
    /// Ask the app for the zones to fetch, before each request of a fetch:
    /// ``SyncOutcome/fetchOptions(_:first:)``.
    case askFetchOptions(SyncReason, FetchScope)
    /// Fetch a page of the list of changed zones:
    /// ``SyncOutcome/zoneList(changed:deleted:token:moreComing:)``.
    case fetchZoneList(since: ChangeToken?)
    /// Fetch a page of a zone's changes: ``SyncOutcome/zoneChanges(isEmpty:token:moreComing:)``.
    case fetchZoneChanges(ZoneID, since: ChangeToken?)
    /// Create and delete zones: ``SyncOutcome/sentZones(_:)``.
    case sendZones([OutgoingZone])
    /// Ask the app for records to save and delete: ``SyncOutcome/batch(_:)``.
    case askBatch(SyncReason, SendScope)
    /// Send the app's batch: ``SyncOutcome/sentBatch(_:)``.
    case sendBatch
    /// Answer calls of the app; no answer.
    case finish([SyncCall], SyncError?)
}

/// A notice to an app about its synchronization.
///
/// The driver has the fetched or sent data, from the step just before.
public enum SyncNotice: Hashable, Sendable {
    /// The state has changed, and may be stored now.
    case stateChanged
    /// Another user has signed in, or the user has signed out; the previous user's pending changes
    /// are dropped.
    case accountChanged(from: UserID?, to: UserID?)
    /// A fetch begins.
    case willFetch(SyncReason, FetchScope)
    /// A page of the list of changed zones was fetched; `missing` are zones that have ended and that a
    /// list without a token does not report.
    case fetchedZoneList(missing: [ZoneID])
    /// A zone's changes are being fetched.
    case willFetchZone(ZoneID)
    /// A page of a zone's changes was fetched.
    case fetchedZoneChanges(ZoneID)
    /// All changes of a zone were fetched, or the fetch failed with the error.
    case didFetchZone(ZoneID, SyncError?)
    /// A fetch is over.
    case didFetch(SyncReason, FetchScope)
    /// A sending begins.
    case willSend(SyncReason, SendScope)
    /// Zones were created and deleted, or that failed.
    case sentZones
    /// Records were saved and removed, or not.
    case sentBatch
    /// A sending is over.
    case didSend(SyncReason, SendScope)
}

/// The outcome of a step.
public enum SyncOutcome: Hashable, Sendable {
    /// It is done.
    case done
    /// It failed as a whole.
    case failed(SyncError)
    /// The signed-in user; `nil` if nobody is signed in.
    case account(UserID?)
    /// The zones to fetch, and those of them to fetch first.
    case fetchOptions(FetchScope, first: [ZoneID])
    /// A page of the list of changed zones.
    case zoneList(changed: [ZoneID], deleted: [ZoneID], token: ChangeToken, moreComing: Bool)
    /// A page of a zone's changes.
    case zoneChanges(isEmpty: Bool, token: ChangeToken, moreComing: Bool)
    /// The zones that could not be created or deleted, with their errors.
    case sentZones([ZoneID: SyncError])
    /// The records to save and delete; `nil` if there are none.
    case batch([OutgoingRecord]?)
    /// The records that could not be saved or deleted, with their errors.
    case sentBatch([RecordID: SyncError])
}

/// A call of the app that waits until a fetch or a sending is over.
public struct SyncCall: Hashable, Sendable {
    let number: Int
}

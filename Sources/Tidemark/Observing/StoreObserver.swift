// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import TidemarkLog
public import TidemarkModel

/// An observer of an open store's work: for logs, metrics and traces.
///
/// Pass it to ``Store/open(at:access:options:observer:progress:)``. A store without an observer
/// counts and times nothing. `StoreInstruments` of the product `TidemarkObserving` is an observer
/// for swift-log, swift-metrics and swift-distributed-tracing.
///
/// Its methods are called on the threads that do the work, even under locks of the store. So they
/// must return soon, and must not call the store.
public protocol StoreObserver: Sendable {
    /// Notifies that some work begins; returns the observer of its end, `nil` for none.
    ///
    /// For a call, this runs in the task of the caller, with the task-local values of that task.
    func begins(_ work: StoreWork) -> (any StoreWorkObserver)?

    /// Notifies the observer of a fact.
    func notes(_ fact: StoreFact)
}

/// An observer of the end of some work.
public protocol StoreWorkObserver: Sendable {
    /// Notifies the observer that the work has ended, with the error if it failed.
    func ends(_ error: (any Error)?)
}

/// Work of a store that takes time.
public enum StoreWork: Sendable {
    /// To open it, with all that recovery and rebuilding take.
    case opening
    /// To answer a call of ``TidemarkModel/DatabaseService``.
    case call(ObservedCall)
    /// To write a frame of commits and wait for the disk.
    case sync
    /// To take the zone views to disk.
    case checkpoint
    /// To compact the log.
    case compaction
}

/// A call that a store answers.
public struct ObservedCall: Hashable, Sendable {
    /// The method that is called.
    public var kind: JournalEntry.Call
    /// The caller of the request.
    public var caller: Caller

    /// Describes a call.
    public init(_ kind: JournalEntry.Call, by caller: Caller) {
        self.kind = kind
        self.caller = caller
    }
}

/// Something that has happened in a store.
public enum StoreFact: Sendable {
    /// The store is open; it was closed in order before, or had to be recovered.
    case opened(last: SequenceNumber, wasClean: Bool)
    /// The store is closed.
    case closed
    /// A frame of commits is durable.
    case synced(SyncedFrame)
    /// A checkpoint has written all events up to a position to the zone views on disk.
    case checkpointed(through: SequenceNumber)
    /// A compaction is over.
    case compacted(CompactionReport)
    /// Some items of a call, or the call as a whole, were rejected for one reason.
    case refused(JournalEntry.Call, SyncError.Code, count: Int)
    /// Lookups of log blocks since the last fact of this kind: found in the cache, or decoded.
    case askedForBlocks(cached: Int, decoded: Int)
    /// A query was answered by an index, or by reading each record.
    case queried(byIndex: Bool)
}

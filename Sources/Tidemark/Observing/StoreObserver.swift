// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import TidemarkLog
public import TidemarkModel

/// Hears of what an open store does: for logs, metrics and traces.
///
/// Given to ``Store/open(at:access:options:observer:progress:)``. A store without one counts and
/// times nothing for it. `StoreInstruments` of the product `TidemarkObserving` is one for
/// swift-log, swift-metrics and swift-distributed-tracing.
///
/// Its methods are called on the threads that do the work, also under locks of the store. So they return
/// soon, and call nothing of the store.
public protocol StoreObserver: Sendable {
    /// Hears that some work begins, and returns what is to hear of its end; `nil` for nothing.
    ///
    /// Of a call it hears in the task of the caller, whose task-local values it sees.
    func begins(_ work: StoreWork) -> (any StoreWorkObserver)?

    /// Hears of something that has happened.
    func notes(_ fact: StoreFact)
}

/// Hears of the end of some work.
public protocol StoreWorkObserver: Sendable {
    /// Hears that the work has ended, by an error if there is one.
    func ends(_ error: (any Error)?)
}

/// Work of a store that takes time.
public enum StoreWork: Sendable {
    /// To open it, with all that recovery and rebuilding take.
    case opening
    /// To answer a call of ``TidemarkModel/DatabaseService``.
    case call(StoreCall)
    /// To write a frame of commits and wait for the disk.
    case sync
    /// To take the zone views to disk.
    case checkpoint
    /// To compact the log.
    case compaction
}

/// A call that a store answers.
public struct StoreCall: Hashable, Sendable {
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
    /// The zone views on disk have taken in all events up to a position.
    case checkpointed(through: SequenceNumber)
    /// A compaction is over.
    case compacted(CompactionReport)
    /// Some items of a call were refused, or the call as a whole, for one reason.
    case refused(JournalEntry.Call, SyncError.Code, count: Int)
    /// Blocks of the log were asked for since the last fact of this kind: found decoded in the cache, or not.
    case askedForBlocks(cached: Int, decoded: Int)
    /// A query was answered by an index, or by a look at each record.
    case queried(byIndex: Bool)
}

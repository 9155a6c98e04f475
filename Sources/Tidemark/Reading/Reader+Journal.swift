// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLog
import TidemarkModel

extension Reader {
    /// Answers a client's call; records a rejection of the whole call in the journal.
    ///
    /// `items` are the items of the call. Costs nothing if the call succeeds and there is no
    /// observer.
    func answer<Answer>(
        _ call: JournalEntry.Call,
        _ caller: Caller,
        about items: @autoclosure () -> [SyncError.Item] = [],
        since: ChangeToken? = nil,
        _ body: () async throws(SyncError) -> Answer
    ) async throws(SyncError) -> Answer {
        let observed = begins(call, caller)
        do throws(SyncError) {
            let answer = try await body()
            if let observed { ends(observed) }
            return answer
        } catch {
            refused(call, caller, about: items(), since: since, error, observed)
            throw error
        }
    }

    /// Answers a call that waits for nothing, as reads do.
    ///
    /// Asynchronous functions that call each other take longer than such a read itself.
    func answerAtOnce<Answer>(
        _ call: JournalEntry.Call,
        _ caller: Caller,
        about items: @autoclosure () -> [SyncError.Item] = [],
        since: ChangeToken? = nil,
        _ body: () throws(SyncError) -> Answer
    ) throws(SyncError) -> Answer {
        let observed = begins(call, caller)
        do throws(SyncError) {
            let answer = try body()
            if let observed { ends(observed) }
            return answer
        } catch {
            refused(call, caller, about: items(), since: since, error, observed)
            throw error
        }
    }

    /// Notifies the observer of a call that was rejected as a whole, and records it in the journal.
    private func refused(
        _ call: JournalEntry.Call,
        _ caller: Caller,
        about items: @autoclosure () -> [SyncError.Item],
        since: ChangeToken?,
        _ error: SyncError,
        _ observed: CallObservation?
    ) {
        if let observed {
            observed.observer.notes(.refused(call, error.code, count: 1))
            ends(observed, error)
        }
        guard let journal else { return }
        let whole = JournalEntry.Refusal(nil, error.code, error.message)
        // The items get no text: the reason is that of the call.
        let others = items().map { JournalEntry.Refusal($0, error.code, "") }
        let refused = JournalEntry.Refused(call, caller, since: since, [whole] + others)
        journal.note(.refused(refused))
    }

    /// Notifies the observer that a call begins; returns `nil` if there is no observer.
    private func begins(_ call: JournalEntry.Call, _ caller: Caller) -> CallObservation? {
        guard isObserved, let observer else { return nil }
        return CallObservation(observer, observer.begins(.call(ObservedCall(call, by: caller))))
    }

    /// Notifies the observer that a call has ended.
    private func ends(_ observed: CallObservation, _ error: SyncError? = nil) {
        cacheReports.report(source.cacheUse, to: observed.observer)
        observed.work?.ends(error)
    }

    /// Records rejected items of a call, each with its reason.
    func note(_ refused: [SyncError.ItemError], of call: JournalEntry.Call, by caller: Caller) {
        guard !refused.isEmpty else { return }
        if let observer {
            let counts = refused.reduce(into: [:]) { $0[$1.error.code, default: 0] += 1 }
            for (code, count) in counts { observer.notes(.refused(call, code, count: count)) }
        }
        guard let journal else { return }
        let refusals = refused.map { item in
            // The reason is another item of the batch, and stands there.
            let message = item.error.code == .batchRequestFailed ? "" : item.error.message
            return JournalEntry.Refusal(item.item, item.error.code, message)
        }
        journal.note(.refused(JournalEntry.Refused(call, caller, refusals)))
    }

    /// Records a page of changes, if the journal is configured for it.
    func note(_ told: @autoclosure () -> JournalEntry.Told) {
        // Before the entry is made: this runs for every page.
        guard let journal, journal.extent == .full else { return }
        journal.note(.told(told()))
    }
}

/// A call of which the observer is notified.
///
/// A class, so that its absence, which is usual, costs nothing: a missing value of a protocol is
/// copied and destroyed by calls of the runtime.
private final class CallObservation: Sendable {
    let observer: any StoreObserver
    let work: (any StoreWorkObserver)?

    init(_ observer: any StoreObserver, _ work: (any StoreWorkObserver)?) {
        self.observer = observer
        self.work = work
    }
}

extension ModifyRecordsRequest {
    /// The items of the request, in order.
    var items: [SyncError.Item] {
        saves.map { .record($0.recordID) } + deletions.map { .record($0.recordID) }
    }
}

extension ModifyZonesRequest {
    /// The items of the request, in order.
    var items: [SyncError.Item] { (saves + deletions).map { .zone($0) } }
}

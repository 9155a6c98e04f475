// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLog
import TidemarkModel

extension Reader {
    /// Answers a call of a client; if it is refused as a whole, that goes to the journal.
    ///
    /// `items` are those that the call is about. Costs nothing where it is answered.
    func answer<Answer>(
        _ call: JournalEntry.Call,
        _ caller: Caller,
        about items: @autoclosure () -> [SyncError.Item] = [],
        since: ChangeToken? = nil,
        _ body: () async throws(SyncError) -> Answer
    ) async throws(SyncError) -> Answer {
        do throws(SyncError) {
            return try await body()
        } catch {
            if let journal {
                let whole = JournalEntry.Refusal(nil, error.code, error.message)
                let others = items().map { JournalEntry.Refusal($0, error.code, "") }
                let refused = JournalEntry.Refused(call, caller, since: since, [whole] + others)
                journal.note(.refused(refused))
            }
            throw error
        }
    }

    /// Notes items of a call that were refused, and each why.
    func note(_ refused: [SyncError.ItemError], of call: JournalEntry.Call, by caller: Caller) {
        guard !refused.isEmpty, let journal else { return }
        let refusals = refused.map { item in
            // The reason is another item of the batch, and stands there.
            let message = item.error.code == .batchRequestFailed ? "" : item.error.message
            return JournalEntry.Refusal(item.item, item.error.code, message)
        }
        journal.note(.refused(JournalEntry.Refused(call, caller, refusals)))
    }

    /// Notes a page of changes, where that is asked for.
    func note(_ told: @autoclosure () -> JournalEntry.Told) {
        guard let journal, journal.extent == .full else { return }
        journal.note(.told(told()))
    }
}

extension ModifyRecordsRequest {
    /// What the request is about, in its order.
    var items: [SyncError.Item] {
        saves.map { .record($0.recordID) } + deletions.map { .record($0.recordID) }
    }
}

extension ModifyZonesRequest {
    /// What the request is about, in its order.
    var items: [SyncError.Item] { (saves + deletions).map { .zone($0) } }
}

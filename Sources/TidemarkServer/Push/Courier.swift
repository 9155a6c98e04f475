// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import Tidemark
import TidemarkLock
import TidemarkModel

/// One client's courier, which delivers one notification after another.
///
/// A notification counts as delivered once its answer was written. Until then no other request gets
/// one, so that none is delivered twice. If the answer cannot be written, the next request gets the
/// same one again.
final class Courier: Sendable {
    private struct State {
        var token: CourierToken
        /// The request that waits.
        var waiting: Listener?
        /// True while an answer with a notification is on its way.
        var isHandingOut = false
        /// True if a request found another one's answer on its way, and so does not know what there is.
        var isAskedAgain = false
        var isSaving = false
        var isSaved = true
        var lastUse = Clock.now()
    }

    private let state: Lock<State>
    let caller: Caller
    let collection: DatabaseID

    /// `nil` for a record that no server wrote.
    init?(_ token: CourierToken) {
        guard let caller = token.caller, let collection = caller.notificationCollection else {
            return nil
        }
        self.caller = caller
        self.collection = collection
        // Uses are only in memory, so a courier that is read from its record counts as used at this
        // moment.
        state = Lock(State(token: token))
    }

    var token: CourierToken { state.withLock { $0.token } }

    /// The time of the last use, or of the reading of its record.
    var lastUse: Int64 { state.withLock(\.lastUse) }

    /// True if the courier can be dropped and read again from its record without a loss.
    var isIdle: Bool {
        state.withLock { $0.waiting == nil && !$0.isHandingOut && !$0.isSaving && $0.isSaved }
    }

    /// Returns true if the courier was used within some milliseconds, and records this use.
    func use(within lifetime: Int64) -> Bool {
        let now = Clock.now()
        return state.withLock { state in
            guard now < state.lastUse + lifetime else { return false }
            state.lastUse = now
            return true
        }
    }

    /// Makes a request the waiting one; the previous one gets an empty answer.
    func wait(with listener: Listener) {
        let before = state.withLock { state in
            defer { state.waiting = listener }
            return state.waiting
        }
        // After the lock is released: `mark` takes the lock of the listener and resumes a task.
        before?.mark(.end)
    }

    /// Removes a waiting request.
    func stopWaiting(_ listener: Listener) {
        state.withLock { if $0.waiting === listener { $0.waiting = nil } }
    }

    /// Takes the next notification.
    ///
    /// Returns `nil` if there is none, or if another request is delivering one.
    func take(from store: Store) async throws(SyncError) -> Handout? {
        // `isHandingOut` is the right to deliver. It passes to the `Handout` if there is a line.
        // Otherwise this call must give it back, or the courier delivers nothing more.
        let position = state.withLock { state -> String? in
            if state.isHandingOut {
                state.isAskedAgain = true
                return nil
            }
            state.isHandingOut = true
            state.isAskedAgain = false
            return state.token.position
        }
        guard let position else { return nil }
        do throws(SyncError) {
            // The route answers this error with 403 and ends the courier. The client then creates
            // another one and fetches.
            guard var token = ChangeToken(position) else {
                throw .init(.changeTokenExpired, "The courier has no position.")
            }
            while true {
                // A page can be empty and still have a successor: the store omits notifications of
                // changes that the client made itself.
                let page = try await store.pushes(since: token, limit: 1, as: caller)
                if let line = page.lines.first { return Handout(line, self) }
                token = page.token
                guard page.moreComing else { break }
            }
            // Not saved: skipped notifications are skipped again.
            foundNone(through: token)
            return nil
        } catch {
            release(at: nil)
            throw error
        }
    }

    /// Ends a search that found nothing.
    ///
    /// It wakes the request that waits only if that one was turned away meanwhile. The hub wakes it for
    /// what comes later. If every search woke it, a courier without news would search without end.
    private func foundNone(through token: ChangeToken) {
        let turnedAway = state.withLock { state in
            state.isHandingOut = false
            state.token.position = token.description
            return state.isAskedAgain ? state.waiting : nil
        }
        turnedAway?.mark(.news)
    }

    /// Ends the delivery of a notification, and advances past it if it was written.
    fileprivate func release(at token: ChangeToken?) {
        let waiting = state.withLock { state in
            state.isHandingOut = false
            if let token { state.token.position = token.description }
            return state.waiting
        }
        waiting?.mark(.news)
    }

    fileprivate func delivered(_ token: ChangeToken) {
        // Before the release: `isIdle` must not be true between the two steps, or the cache could
        // drop a courier with an unsaved position.
        state.withLock { $0.isSaved = false }
        release(at: token)
    }

    /// Saves the position, unless another task is saving it.
    ///
    /// A record that was deleted, or given to another client, is left as it is.
    func save(in directory: Directory) async throws {
        let couriers = directory.registry.couriers
        while true {
            let token = state.withLock { state -> CourierToken? in
                if state.isSaved || state.isSaving { return nil }
                state.isSaving = true
                // Set before the save. A delivery during the save sets it to false again, and the
                // next round of the loop saves the newer position.
                state.isSaved = true
                return state.token
            }
            guard let token else { return }
            defer { state.withLock { $0.isSaving = false } }
            do {
                guard var stored = try await couriers.fetchIfPresent(CourierToken.self, token.id),
                    stored.value.isSameClient(as: token)
                else { return }
                stored.value.position = token.position
                try await couriers.save(stored)
            } catch {
                state.withLock { $0.isSaved = false }
                // The record was changed or deleted since it was read.
                let again: [SyncError.Code] = [.serverRecordChanged, .unknownItem]
                if let error = error as? SyncError, again.contains(error.code) { continue }
                throw error
            }
        }
    }
}

/// A notification that is being delivered: if it is released without ``wasWritten()``, it is
/// delivered again.
final class Handout: Sendable {
    let line: PushPage.Line
    private let courier: Courier
    private let isSettled = Lock(false)

    fileprivate init(_ line: PushPage.Line, _ courier: Courier) {
        self.line = line
        self.courier = courier
    }

    /// Records that the answer was written.
    func wasWritten() {
        isSettled.withLock { $0 = true }
        courier.delivered(line.token)
    }

    deinit {
        // The body of the response has the last reference. A write that fails, or a connection that
        // closes before the body begins, therefore ends here.
        if !isSettled.withLock(\.self) { courier.release(at: nil) }
    }
}
#endif

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkModel

extension SyncLoop {
    /// The milliseconds for which the app's own changes of the state are collected before one
    /// notice.
    private static let gatheringTime: Int64 = 100

    /// Returns the next step.
    ///
    /// Every step has an outcome but ``SyncStep/wait(until:)`` and ``SyncStep/finish(_:_:)``. The next
    /// call must come after ``take(_:at:)`` has received it.
    public mutating func nextStep(at now: Int64) -> SyncStep {
        if let notice { return .tell(notice) }
        if case .none = activity, let accountNotice {
            // Before any other notice: the app must not store a state of the new user among the
            // data of the previous one (Docs/cloudkit.md, "The sync engine").
            self.accountNotice = nil
            return tell(accountNotice)
        }
        // Not while `isTelling`: the app would save a state whose changes it has not handled.
        if !isTelling, isTimeToTell(at: now) { return tell(.stateChanged) }
        if case .none = activity {
            if !answers.isEmpty { return answers.removeFirst() }
            begin(at: now)
        }
        switch activity {
        case .none: return answers.isEmpty ? .wait(until: nextTime) : answers.removeFirst()
        case .checkingAccount: return .checkAccount
        case .subscribing: return .subscribe
        case .fetching(let cycle): return cycle.step(state)
        case .sending(let cycle): return cycle.step()
        }
    }

    /// Takes the outcome of a step.
    public mutating func take(_ outcome: SyncOutcome, at now: Int64) {
        // `nextStep` returns a notice before any step of the activity, so the outcome belongs to
        // the notice.
        guard notice == nil else {
            notice = nil
            return
        }
        switch activity {
        case .none: break
        case .checkingAccount(let changeCount):
            activity = .none
            // The user who was found may no longer be signed in.
            if changeCount == accountChangeCount { takeAccount(outcome, at: now) }
        case .subscribing:
            activity = .none
            if case .failed(let error) = outcome {
                schedule.subscribeAt =
                    error.code.isPassing
                    ? schedule.retryTime(of: .subscribing, after: error, at: now) : .max
            } else {
                schedule.succeed(.subscribing)
                isSubscribed = true
                // Changes before the subscription caused no notification.
                if !isCancelled { schedule.fetchSoon(now) }
            }
        case .fetching(var cycle):
            let isOver = cycle.take(outcome, &state)
            activity = isOver ? .none : .fetching(cycle)
            // What expires the token, such as a restore, may have removed the subscription as well. Not
            // each time: the fetch after the subscription would begin this anew without a pause.
            if cycle.hasRestarted, !hasRestarted { isSubscribed = false }
            if isOver {
                hasRestarted = cycle.hasRestarted
                end(cycle, at: now)
            }
        case .sending(var cycle):
            let isOver = cycle.take(outcome, &state)
            activity = isOver ? .none : .sending(cycle)
            if isOver { end(cycle, at: now) }
        }
    }

    /// True if the app has not yet been notified of changes that the state includes or will
    /// include.
    private var isTelling: Bool {
        switch activity {
        case .fetching(let cycle): cycle.isTelling
        case .sending(let cycle): cycle.isTelling
        default: false
        }
    }

    /// Returns true if the app has to be told of a new state: at once during an activity, which has
    /// changed it, else after `gatheringTime`.
    private mutating func isTimeToTell(at now: Int64) -> Bool {
        guard state.edition != toldEdition else { return false }
        if case .none = activity, calls.isEmpty, answers.isEmpty {
            let since = changedAt ?? now
            changedAt = since
            return now >= since + Self.gatheringTime
        }
        return true
    }

    private mutating func tell(_ notice: SyncNotice) -> SyncStep {
        if notice == .stateChanged {
            toldEdition = state.edition
            changedAt = nil
        }
        self.notice = notice
        return .tell(notice)
    }
}

// MARK: - Beginning and ending

extension SyncLoop {
    /// Begins the next activity.
    private mutating func begin(at now: Int64) {
        // A call of the app checks the account again at once. Automatic work waits for `accountAt`,
        // or for a change of the account.
        if account == .unusable, !calls.isEmpty || schedule.accountAt.map({ $0 <= now }) ?? false {
            account = .unknown
        }
        if account == .unknown, isAutomatic || !calls.isEmpty {
            schedule.accountAt = nil
            activity = .checkingAccount(changeCount: accountChangeCount)
        } else if account == .usable, !calls.isEmpty {
            let waiting = calls.removeFirst()
            switch waiting.wish {
            case .fetch(let scope):
                let cycle = FetchCycle(reason: .manual, calls: [waiting.call], scope: scope)
                activity = .fetching(cycle)
            case .send(let scope):
                let cycle = SendCycle(reason: .manual, calls: [waiting.call], scope: scope)
                activity = .sending(cycle)
            }
        } else if account == .usable, isAutomatic {
            beginScheduled(at: now)
        }
    }

    private mutating func beginScheduled(at now: Int64) {
        // Before the fetch: a change between a fetch and a later subscription would cause no
        // notification.
        if !isSubscribed, schedule.subscribeAt <= now {
            activity = .subscribing
        } else if let time = schedule.fetchAt, time <= now {
            // Before a send operation that is due: changes that the app has merged cause no
            // conflicts.
            schedule.fetchAt = nil
            activity = .fetching(FetchCycle(reason: .scheduled, scope: .all))
        } else if let time = schedule.sendAt, time <= now {
            schedule.sendAt = nil
            guard hasOutgoing else { return }
            activity = .sending(SendCycle(reason: .scheduled, calls: [], scope: .all))
        }
    }

    /// The time of the next step if nothing happens before; `nil` if there is none.
    private var nextTime: Int64? {
        var times: [Int64] = []
        if let changedAt { times.append(changedAt + Self.gatheringTime) }
        if isAutomatic, account == .usable {
            times += [schedule.fetchAt, schedule.sendAt].compactMap(\.self)
            if !isSubscribed, schedule.subscribeAt < .max {
                times.append(schedule.subscribeAt)
            }
        } else if isAutomatic, let time = schedule.accountAt {
            times.append(time)
        }
        return times.min()
    }

    private mutating func end(_ cycle: FetchCycle, at now: Int64) {
        if !cycle.calls.isEmpty { answers.append(.finish(cycle.calls, cycle.failure)) }
        guard cycle.failure != nil else { return schedule.succeed(.fetching) }
        // Other errors are for the app: a retry by the loop would fail again.
        if !cycle.isCancelled, let failure = cycle.passingFailure {
            let time = schedule.retryTime(of: .fetching, after: failure, at: now)
            schedule.fetchAt = time
            // A send operation that is due comes before the next try. If each fetch fails, as those of
            // large pages over a slow network do, changes are still sent.
            schedule.postponeSending()
        }
    }

    /// Ends a send operation.
    ///
    /// If it failed in part, the remaining changes are sent after the server's side of them has
    /// been fetched.
    private mutating func end(_ cycle: SendCycle, at now: Int64) {
        if !cycle.calls.isEmpty { answers.append(.finish(cycle.calls, cycle.failure)) }
        // The retry delay grows only if nothing else was sent in the meantime.
        if cycle.hasSent || cycle.failure == nil { schedule.succeed(.sending) }
        guard let failure = cycle.failure, !cycle.isCancelled, hasOutgoing else { return }
        let time = schedule.retryTime(of: .sending, after: failure, at: now)
        schedule.sendAt = time
        schedule.fetchAt = schedule.fetchAt.map { min($0, time) } ?? time
    }

    private mutating func takeAccount(_ outcome: SyncOutcome, at now: Int64) {
        switch outcome {
        case .account(let user):
            if user != state.user { change(to: user) }
            schedule.succeed(.account)
            if user == nil {
                refuse(SyncError(.notAuthenticated, "No user is signed in."))
            } else {
                account = .usable
            }
        case .failed(let error):
            // Also after an error that does not pass by itself: nothing else would check the account again.
            schedule.accountAt = schedule.retryTime(of: .account, after: error, at: now)
            refuse(error)
        default:
            preconditionFailure("The account cannot be \(outcome).")
        }
    }

    /// Fails all calls: the account cannot be used.
    private mutating func refuse(_ error: SyncError) {
        account = .unusable
        if !calls.isEmpty { answers.append(.finish(calls.map(\.call), error)) }
        calls = []
    }

    /// Changes the signed-in user.
    ///
    /// The previous user's fetched state and pending changes are dropped. Changes that an app added
    /// while nobody was signed in belong to the first user who signs in.
    private mutating func change(to user: UserID?) {
        accountNotice = .accountChanged(from: state.user, to: user)
        if state.user != nil { state.forget() }
        state.user = user
        isSubscribed = false
        // The pause is the previous user's, and has no end if that subscription failed for good.
        schedule.subscribeAt = 0
        schedule.succeed(.subscribing)
        if isAutomatic, user != nil { schedule.fetchAt = 0 }
    }
}

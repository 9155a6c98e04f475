// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkModel

/// One sending, from its announcement to its end.
struct SendCycle: Sendable {
    enum Stage: Sendable {
        case announcing
        case sendingZones([OutgoingZone], edition: Int)
        case tellingZones
        case askingBatch(edition: Int)
        case sendingBatch([OutgoingRecord], edition: Int)
        case tellingBatch
        case concluding
    }

    var reason: SyncReason
    var calls: [SyncCall]
    var scope: SendScope
    var stage = Stage.announcing
    private(set) var failure: SyncError?
    private(set) var isCancelled = false
    /// True if something was sent.
    private(set) var hasSent = false

    /// The maximum number of zones in one request.
    static let zoneCount = 200

    /// Ends it after the step that is being done.
    mutating func cancel(_ error: SyncError) {
        failure = error
        isCancelled = true
    }

    /// Returns the next step.
    func step() -> SyncStep {
        switch stage {
        case .announcing: .tell(.willSend(reason, scope))
        case .sendingZones(let zones, _): .sendZones(zones)
        case .tellingZones: .tell(.sentZones)
        case .askingBatch: .askBatch(reason, scope)
        case .sendingBatch: .sendBatch
        case .tellingBatch: .tell(.sentBatch)
        case .concluding: .tell(.didSend(reason, scope))
        }
    }

    /// True if the app has not yet been notified of changes that the state includes.
    var isTelling: Bool {
        switch stage {
        case .tellingZones, .tellingBatch: true
        default: false
        }
    }

    /// Takes the outcome of the step; returns true if the cycle is over.
    mutating func take(_ outcome: SyncOutcome, _ state: inout SyncState) -> Bool {
        switch (stage, outcome) {
        case (.announcing, _), (.tellingZones, _):
            stage = next(state)
        case (.sendingZones(let zones, let edition), .sentZones(let errors)):
            // Changes that failed with any other error leave the outbox as well: the app handles
            // the error and adds the change again. The edition protects a change that the app added
            // during the request.
            for zone in zones where !(errors[zone.id]?.code.isPassing ?? false) {
                state.outgoingZones.remove(zone, upTo: edition)
            }
            hasSent = hasSent || errors.count < zones.count
            fail(errors.map { SyncError.ItemError(.zone($0.key), $0.value) })
            stage = .tellingZones
        case (.askingBatch(let edition), .batch(let changes?))
        where !changes.isEmpty && !isCancelled:
            stage = .sendingBatch(changes, edition: edition)
        case (.askingBatch, _):
            // The app may have added zones in the meantime.
            stage = hasZones(state) ? next(state) : .concluding
        case (.sendingBatch(let changes, let edition), .sentBatch(let errors)):
            for change in changes where !(errors[change.id]?.code.isPassing ?? false) {
                state.outgoingRecords.remove(change, upTo: edition)
            }
            hasSent = hasSent || errors.count < changes.count
            fail(errors.map { SyncError.ItemError(.record($0.key), $0.value) })
            stage = .tellingBatch
        case (.tellingBatch, _):
            stage = next(state)
        case (.concluding, _):
            return true
        case (.sendingZones, _), (.sendingBatch, _):
            preconditionFailure("A send operation cannot continue with \(outcome) at \(stage).")
        }
        return false
    }

    private mutating func fail(_ errors: [SyncError.ItemError]) {
        // The first failure is that of the cycle. After a cancellation it is the cancellation,
        // whatever the last request returned.
        guard !errors.isEmpty, failure == nil else { return }
        failure = SyncError(
            .partialFailure,
            "\(errors.count) of the changes could not be sent.",
            retryAfter: errors.compactMap(\.error.retryAfter).max(),
            partialErrors: errors
        )
    }

    private func hasZones(_ state: SyncState) -> Bool {
        state.outgoingZones.changes.contains { scope.contains($0.id) }
    }

    private func next(_ state: SyncState) -> Stage {
        // After a failure the rest waits for the retry, which fetches first: `SyncLoop` schedules
        // both.
        guard !isCancelled, failure == nil else { return .concluding }
        let zones = state.outgoingZones.changes.filter { scope.contains($0.id) }
        if !zones.isEmpty {
            return .sendingZones(
                Array(zones.prefix(Self.zoneCount)),
                edition: state.outgoingZones.edition
            )
        }
        // The edition is taken before the app makes the batch. A change that is added meanwhile has
        // a later edition, and stays pending even if the batch contains an older version of it.
        return .askingBatch(edition: state.outgoingRecords.edition)
    }
}

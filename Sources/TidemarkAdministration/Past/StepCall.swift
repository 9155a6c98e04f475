// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Tidemark
import TidemarkEvents
public import TidemarkLog
public import TidemarkModel
import TidemarkReplay

/// Requests an event, and the state of its record before and after; events of the server's own
/// container are left out.
public struct StepCall: SingleAnswerCall {
    /// See `AdministrationCall`.
    public static let name = "replay-step"

    /// The event: itself or the first after it, or, going back, the last before it.
    public var position: SequenceNumber
    /// True for the last event before the position.
    public var goesBack: Bool
    /// The first event that counts.
    public var first: SequenceNumber
    /// The last event that counts; `nil` for the last that there is.
    public var last: SequenceNumber?

    /// Describes the call.
    public init(
        to position: SequenceNumber,
        goesBack: Bool = false,
        from first: SequenceNumber,
        through last: SequenceNumber?
    ) {
        self.position = position
        self.goesBack = goesBack
        self.first = first
        self.last = last
    }

    /// The answer; without members, if there is no such event.
    public struct Answer: Codable, Sendable {
        /// The event.
        public var event: LoggedEvent?
        /// The record as it was before; `nil` if it did not exist, or the version is no longer in
        /// the log.
        public var before: Record?
        /// The record after the event; `nil` if it does not exist.
        public var record: Record?
    }

    /// See `SingleAnswerCall`.
    public func answer(from administration: StoreAdministration) async throws -> Answer {
        let store = try administration.store
        let source = try store.eventSource
        var steps = try await store.steps(from: first, through: last)
        var step = try await steps.go(to: position)
        // The walk stands at the position now, or after the last event.
        if goesBack { step = try await steps.previous() }
        var decoder = EventDecoder(source: source)
        while let found = step {
            let event: DecodedEvent
            do {
                event = try decoder.decode(found.event)
            } catch let error as EventFormatError {
                throw SyncError(.internalError, error.message)
            }
            // The accounts and secrets of a server are no part of a walk.
            if event.zone?.database.container == .server {
                step = goesBack ? try await steps.previous() : try await steps.next()
                continue
            }
            return Answer(
                event: LoggedEvent(event, in: source.line),
                before: found.before,
                record: found.change?.record
            )
        }
        return Answer()
    }
}

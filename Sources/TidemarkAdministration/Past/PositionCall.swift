// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Tidemark
public import TidemarkLog
public import TidemarkModel

/// Requests the event of a time or a token.
public struct PositionCall: SingleAnswerCall {
    /// See `AdministrationCall`.
    public static let name = "position"

    /// The time in milliseconds since 1970: the last commit at or before it counts.
    public var time: Int64?
    /// The token of a device.
    public var token: ChangeToken?

    /// Creates a request for the event of a time.
    public init(atOrBefore time: Int64) {
        self.time = time
    }

    /// Creates a request for the event of a token.
    public init(of token: ChangeToken) {
        self.token = token
    }

    /// Creates a request for the first and the last event.
    public init() {}

    /// The answer.
    public struct Answer: Codable, Hashable, Sendable {
        /// The requested position; without a time and a token, the newest.
        public var position: SequenceNumber
        /// The newest event.
        public var newest: SequenceNumber
        /// The first event as of which the store can be read; zero if all history is kept.
        public var horizon: SequenceNumber
    }

    /// See `SingleAnswerCall`.
    public func answer(from administration: StoreAdministration) async throws -> Answer {
        let store = try administration.store
        // A search by time may end too early where a log is damaged.
        let newest = try store.eventSource.durableSequence
        let position =
            // No initializer sets both. If a call on the wire has both, the token counts.
            if let token { try store.position(of: token) } else if let time {
                try store.position(atOrBefore: time)
            } else { newest }
        return Answer(position: position, newest: newest, horizon: try store.historyHorizon())
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Tidemark
public import TidemarkLog

/// Requests the positions of the commit that holds an event.
public struct CommitCall: SingleAnswerCall {
    /// See `AdministrationCall`.
    public static let name = "commit"

    /// The event.
    public var position: SequenceNumber

    /// Describes the call.
    public init(at position: SequenceNumber) {
        self.position = position
    }

    /// The answer; without members, if none of the commit's events is left in the log.
    public struct Answer: Codable, Hashable, Sendable {
        /// The first event of the commit.
        public var first: SequenceNumber?
        /// The last one.
        public var last: SequenceNumber?
    }

    /// See `SingleAnswerCall`.
    public func answer(from administration: StoreAdministration) async throws -> Answer {
        let commit = try administration.store.commit(at: position)
        return Answer(first: commit?.lowerBound, last: commit?.upperBound)
    }
}

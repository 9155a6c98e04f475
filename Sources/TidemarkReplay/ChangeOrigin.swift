// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Tidemark
package import TidemarkEvents
public import TidemarkLog
public import TidemarkModel

/// The origin of an event of the log: its position and times, and the user, device, build and
/// request id that caused it.
public struct ChangeOrigin: Hashable, Codable, Sendable {
    /// The event's position.
    public var sequence: SequenceNumber
    /// The commit's time, in milliseconds since 1970: the client's time, but never before the time
    /// of an earlier commit.
    public var time: Int64
    /// The time when the store received it, by its own clock, in milliseconds since 1970.
    public var received: Int64
    /// The user that made the request; `nil` if unknown.
    public var user: UserID?
    /// The device, as it calls itself.
    public var device: String?
    /// The build of the app.
    public var build: String?
    /// The request's id, where the client gave one.
    public var request: String?

    /// Creates the origin of an event.
    public init(
        sequence: SequenceNumber,
        time: Int64,
        received: Int64,
        user: UserID? = nil,
        device: String? = nil,
        build: String? = nil,
        request: String? = nil
    ) {
        self.sequence = sequence
        self.time = time
        self.received = received
        self.user = user
        self.device = device
        self.build = build
        self.request = request
    }

    /// Reads it from an event's commit.
    package init(_ event: LogEvent) throws(EventFormatError) {
        let envelope = try CommitEnvelope(event.envelope.span.bytes)
        self.init(
            sequence: event.sequence,
            time: event.commit.time,
            received: event.commit.received,
            user: envelope.user.map { UserID($0) },
            device: envelope.device,
            build: envelope.build,
            // An id that an import generated is meaningless.
            request: envelope.request.flatMap { $0.isDerived ? nil : $0.id }
        )
    }
}

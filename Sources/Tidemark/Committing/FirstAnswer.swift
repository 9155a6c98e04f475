// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel
import TidemarkViews

/// The id of a request, and a hash of its content.
struct RequestIdentity {
    let id: String
    let key: RequestKey
    let contentHash: UInt64
}

/// The commit that answered a request the first time.
struct FirstAnswer {
    /// A hash of the request's content.
    let contentHash: UInt64
    /// Position of its first event.
    let first: SequenceNumber
    /// The time when the request was received, in milliseconds since 1970.
    let received: Int64
    /// The outcome of each item.
    let outcomes: [ItemOutcome]
    /// The last position that an outcome names.
    ///
    /// The outcome must not be visible until that position is durable.
    let last: SequenceNumber
}

extension Writer {
    /// The identity of a caller's request, if it has an id.
    func identity(of caller: Caller, _ content: @autoclosure () -> [UInt8]) -> RequestIdentity? {
        caller.requestID.map { id in
            // The key includes the user and the database. Clients choose ids, so two users may use
            // the same one.
            let user = caller.user?.userRecordName ?? ""
            return RequestIdentity(
                id: id,
                key: reader.views.hash.key(ofRequest: id, user: user, database: caller.database),
                contentHash: reader.views.hash.content(content().span.bytes)
            )
        }
    }

    /// Returns the earlier commit for a request; `nil` if there is none, or if it is too old.
    ///
    /// Throws `invalidArguments` if the id was used for a different request.
    func firstAnswer(
        to request: RequestIdentity,
        in picture: ViewPicture
    ) throws(SyncError) -> FirstAnswer? {
        let answer = try firstAnswer(to: request.key, in: picture)
        if let answer, answer.contentHash != request.contentHash {
            throw .requestIDReused(request.id)
        }
        return answer
    }

    /// Returns the earlier commit for a request id, whatever the content of the request.
    func firstAnswer(
        to request: RequestKey,
        in picture: ViewPicture
    ) throws(SyncError) -> FirstAnswer? {
        let first: SequenceNumber? = try SyncError.wrapping { () throws(ViewIndexError) in
            try picture.firstSequence(of: request)
        }
        guard let first else { return nil }
        let (envelope, received) = try reader.envelope(ofCommitAt: first)
        // The index has only a hash of the request; the commit's envelope decides.
        guard let known = envelope.request, known.key == request else { return nil }
        // The index forgets requests only when a compaction runs, so the age is checked here. It is
        // measured by the time of receipt: an import may claim any time for its commit
        // (semantics.md, "Times").
        let lifetime = reader.options.requestLifetime.inMilliseconds
        let isForgotten =
            !known.neverExpires && received < reader.now().subtractingSaturated(lifetime)
        if isForgotten { return nil }
        // A commit becomes durable as a whole. Waiting for its last outcome is enough, although
        // cascades may follow that event.
        let lastIndex = envelope.outcomes.reduce(0) { last, outcome in
            if case .event(let index) = outcome { max(last, index) } else { last }
        }
        return FirstAnswer(
            contentHash: known.contentHash,
            first: first,
            received: received,
            outcomes: envelope.outcomes,
            last: first + lastIndex
        )
    }
}

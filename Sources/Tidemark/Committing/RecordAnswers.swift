// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel
import TidemarkRules
import TidemarkViews

extension CommitPlan {
    /// Adds the envelope to the commit: the caller, and the outcome of each item.
    ///
    /// Outcomes are stored only for requests with an id, because others cannot be retried.
    mutating func seal(
        as caller: Caller,
        _ request: RequestIdentity?,
        outcomes: @autoclosure () -> [ItemOutcome]
    ) {
        self.request = request?.key
        draft.envelope = CommitEnvelope.bytes(
            user: caller.user?.userRecordName,
            device: caller.device,
            build: caller.build,
            request: request.map {
                CommitEnvelope.Request(id: $0.id, key: $0.key, contentHash: $0.contentHash)
            },
            outcomes: request == nil ? [] : outcomes(),
            extras: EnvelopeExtras(trace: caller.trace, authentication: caller.authentication)
        )
    }
}

extension RecordDecision.Outcome {
    /// The outcome as an envelope keeps it.
    var stored: ItemOutcome {
        switch self {
        case .event(let index): .event(index)
        case .nothingToDo: .nothingToDo
        case .refused(let error, let against):
            .refused(code: error.code.rawValue, message: error.message, against: against)
        }
    }
}

extension Writer {
    /// The answer to a request that was just decided and, where something had to change, committed.
    func answers(
        to request: ModifyRecordsRequest,
        as caller: Caller,
        _ decision: borrowing RecordDecision,
        _ placed: Committer.Placed?
    ) throws(SyncError) -> ModifyRecordsResult {
        var result = ModifyRecordsResult(saves: [], deletions: [])
        var refused: [SyncError.ItemError] = []
        result.saves.reserveCapacity(request.saves.count)
        let line = reader.line
        // Outcomes are in the order of `record(at:)`: first the saves, then the deletions.
        for (index, outcome) in decision.outcomes.enumerated() {
            switch outcome {
            case .event(let event):
                guard index < request.saves.count, let placed else {
                    result.deletions.append(.success(request.record(at: index)))
                    continue
                }
                let position = placed.first + event
                // From the payloads in memory. Reading the log would decode a block for each saved
                // record.
                let record = Record(
                    zone: request.saves[index].recordID.zone,
                    changeTag: TagContent(of: position, in: line).tag,
                    body: placed.body(at: decision.plan.events[event].bodyOffset, ofEvent: event)
                )
                result.saves.append(.success(record))
            case .nothingToDo:
                result.deletions.append(.success(request.record(at: index)))
            case .refused(let error, _):
                result.add(error, isSave: index < request.saves.count)
                refused.append(SyncError.ItemError(.record(request.record(at: index)), error))
            }
        }
        reader.note(refused, of: .modifyRecords, by: caller)
        return result
    }

    /// The first answer to a request, again.
    func answers(
        to request: ModifyRecordsRequest,
        as caller: Caller,
        from answer: FirstAnswer,
        _ sight: VersionAccess,
        _ picture: ViewPicture
    ) throws(SyncError) -> ModifyRecordsResult {
        guard answer.outcomes.count == request.itemCount else {
            throw SyncError(
                .internalError,
                "The commit at \(answer.first) keeps \(answer.outcomes.count) outcomes for a request "
                    + "of \(request.itemCount) items."
            )
        }
        var result = ModifyRecordsResult(saves: [], deletions: [])
        var refused: [SyncError.ItemError] = []
        // A conflict's client record has the time and author of the request. With those of the
        // first one, this result equals the first result.
        let author = Authorship(time: answer.received, user: caller.user, device: caller.device)
        let conflicts = Conflicts(
            of: request,
            by: BodyAuthor(author),
            reader.line,
            sight,
            picture.facts
        )
        let positions = zip(request.saves, answer.outcomes).compactMap { _, outcome in
            if case .event(let event) = outcome { answer.first + event } else { nil }
        }
        // One for each position, in the same order.
        var saved = try reader.views.records(at: positions)[...]
        for (index, outcome) in answer.outcomes.enumerated() {
            let isSave = index < request.saves.count
            switch outcome {
            case .event where isSave:
                let zone = request.saves[index].recordID.zone
                result.saves.append(.success(try reader.record(saved.removeFirst(), in: zone)))
            case .event, .nothingToDo:
                result.deletions.append(.success(request.record(at: index)))
            case .refused(let code, let message, let against):
                let error = try refusal(code, message, against, at: index, conflicts)
                result.add(error, isSave: isSave)
                refused.append(SyncError.ItemError(.record(request.record(at: index)), error))
            }
        }
        reader.note(refused, of: .modifyRecords, by: caller)
        return result
    }

    /// A refusal that was kept, with the records of its conflict if it was one.
    private func refusal(
        _ code: Int,
        _ message: String,
        _ against: SequenceNumber,
        at index: Int,
        _ conflicts: Conflicts
    ) throws(SyncError) -> SyncError {
        let code = SyncError.Code(rawValue: code) ?? .internalError
        // Zero in the envelope means that the item did not fail because of a conflict.
        guard against != .zero else { return SyncError(code, message) }
        // Compaction keeps the events that requests made, but not those that they conflicted with, and
        // a salvage may have lost one.
        if try reader.source.event(at: against) == nil { return SyncError(code, message) }
        let server = try reader.views.records(at: [against])[0]
        let records = try conflicts.records(at: index, against: server)
        return SyncError(code, message, conflict: records)
    }
}

extension ModifyRecordsResult {
    /// Returns the outcomes for a caller that may change records without reading them: of saved
    /// records only the fields sent, of a conflict only its existence.
    func withoutUnreadable(
        to access: PublicAccess?,
        _ request: ModifyRecordsRequest
    ) throws(SyncError) -> ModifyRecordsResult {
        // `access` is nil outside public databases: everywhere else a caller that may write may
        // also read.
        guard let access else { return self }
        var result = self
        for (index, save) in zip(saves.indices, request.saves) {
            switch saves[index] {
            case .success(let record):
                if try access.refusal(of: .read, on: record.body) == nil { continue }
                let sent = FieldSelection(save.fields.map(\.name))
                result.saves[index] = .success(record.narrowed(to: sent))
            case .failure(let error):
                guard let server = error.conflict?.server,
                    try access.refusal(of: .read, on: server.body) != nil
                else { continue }
                result.saves[index] = .failure(SyncError(error.code, error.message))
            }
        }
        for index in deletions.indices {
            guard case .failure(let error) = deletions[index], let server = error.conflict?.server,
                try access.refusal(of: .read, on: server.body) != nil
            else { continue }
            result.deletions[index] = .failure(SyncError(error.code, error.message))
        }
        return result
    }

    fileprivate mutating func add(_ error: SyncError, isSave: Bool) {
        if isSave { saves.append(.failure(error)) } else { deletions.append(.failure(error)) }
    }
}

extension Committer.Placed {
    /// The body that an event of the commit has saved, which begins at an offset of the payloads.
    fileprivate func body(at offset: Int, ofEvent index: Int) -> RecordBody {
        RecordBody(sound: payloads[offset..<events[index].payloadEnd])
    }
}

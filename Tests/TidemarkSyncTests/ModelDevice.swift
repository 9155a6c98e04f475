// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TidemarkModel

@testable import TidemarkSync

/// A device: what an app keeps, and a sync loop that is driven step by step.
struct ModelDevice {
    struct Kept {
        var value: Int?
        var tag: Int?
        /// Whether the server does not have it yet.
        var isDirty = false
    }

    /// What survives a crash.
    var records: [RecordID: Kept] = [:]
    var keptState: Data?
    /// Whose records these are.
    var user: UserID?

    var loop: SyncLoop
    let isAutomatic: Bool
    private var page: [(id: RecordID, record: ModelServer.Stored)] = []
    private var deletedZones: [ZoneID] = []
    private var batch: [(change: OutgoingRecord, value: Int?, tag: Int?)] = []
    private var sent: [RecordID: Result<Int, SyncError>] = [:]
    /// What the app was told.
    private(set) var notices: [SyncNotice] = []
    private(set) var answers: [(calls: [SyncCall], error: SyncError?)] = []

    init(isAutomatic: Bool = true) {
        self.isAutomatic = isAutomatic
        loop = SyncLoop(isAutomatic: isAutomatic)
    }

    /// Goes on from what was kept, as an app does that was killed.
    mutating func restart(at now: Int64) throws {
        let state = try keptState.map { try JSONDecoder().decode(SyncState.self, from: $0) }
        loop = SyncLoop(state ?? SyncState(), isAutomatic: isAutomatic)
        page = []
        batch = []
        sent = [:]
        deletedZones = []
        for (id, kept) in records.sorted(by: { $0.key < $1.key }) where kept.isDirty {
            loop.add(records: [kept.value == nil ? .delete(id) : .save(id)], at: now)
        }
    }

    mutating func edit(_ id: RecordID, _ value: Int?, at now: Int64) {
        records[id, default: Kept()].value = value
        records[id]?.isDirty = true
        loop.add(records: [value == nil ? .delete(id) : .save(id)], at: now)
    }

    /// Does the next step; returns it.
    ///
    /// A failure takes the place of what the server would have answered.
    mutating func step(
        _ server: inout ModelServer,
        at now: Int64,
        failing failure: SyncError? = nil
    ) throws -> SyncStep {
        let step = loop.nextStep(at: now)
        switch step {
        case .wait: break
        case .finish(let calls, let error): answers.append((calls, error))
        case .tell(let notice):
            notices.append(notice)
            try hear(notice, server, at: now)
            loop.take(.done, at: now)
        case .askFetchOptions(_, let scope):
            loop.take(.fetchOptions(scope, first: []), at: now)
        case .askBatch(_, let scope):
            batch = []
            for change in loop.outgoingRecords.prefix(3) where scope.contains(change.id) {
                let kept = records[change.id]
                batch.append((change, kept?.value, kept?.tag))
            }
            loop.take(.batch(batch.isEmpty ? nil : batch.map(\.change)), at: now)
        case .checkAccount, .subscribe, .fetchZoneList, .fetchZoneChanges, .sendZones, .sendBatch:
            loop.take(perform(step, &server, failing: failure), at: now)
        }
        return step
    }

    private mutating func perform(
        _ step: SyncStep,
        _ server: inout ModelServer,
        failing failure: SyncError?
    ) -> SyncOutcome {
        switch step {
        case .sendZones(let changes):
            if let failure {
                return .sentZones(
                    Dictionary(uniqueKeysWithValues: changes.map { ($0.id, failure) })
                )
            }
            let requests = changes.map { change in
                switch change {
                case .save(let zone): ModelServer.OutgoingZoneRequest(zone: zone)
                case .delete(let zone):
                    ModelServer.OutgoingZoneRequest(zone: zone, isDeletion: true)
                }
            }
            return .sentZones(server.apply(requests))
        case .sendBatch:
            sent = [:]
            for (change, value, tag) in batch {
                sent[change.id] = Result { () throws(SyncError) in
                    if let failure { throw failure }
                    return try server.save(change.id, value, tag: tag)
                }
            }
            return .sentBatch(
                sent.compactMapValues { result in
                    if case .failure(let error) = result { error } else { nil }
                }
            )
        default: break
        }
        if let failure { return .failed(failure) }
        switch step {
        case .checkAccount: return .account(server.user)
        case .fetchZoneList(let token):
            let outcome = server.zoneList(since: token)
            if case .zoneList(_, let deleted, _, _) = outcome { deletedZones = deleted }
            return outcome
        case .fetchZoneChanges(let zone, let token):
            do throws(SyncError) {
                let (page, outcome) = try server.changes(of: zone, since: token)
                self.page = page
                return outcome
            } catch {
                return .failed(error)
            }
        default: return .done
        }
    }

    private mutating func hear(_ notice: SyncNotice, _ server: ModelServer, at now: Int64) throws {
        switch notice {
        case .stateChanged: keptState = try JSONEncoder().encode(loop.state)
        case .accountChanged(let old, let new):
            if old != nil { records = [:] }
            user = new
        case .fetchedZoneList(let missing):
            for zone in deletedZones + missing {
                records = records.filter { $0.key.zone != zone || $0.value.isDirty }
            }
        case .fetchedZoneChanges:
            for (id, record) in page { merge(id, record, at: now) }
        case .sentBatch:
            for (change, value, _) in batch { hear(change, value, server, at: now) }
        default: break
        }
    }

    /// The greater value wins; against a deletion, what was edited.
    private mutating func merge(_ id: RecordID, _ stored: ModelServer.Stored, at now: Int64) {
        guard let kept = records[id], kept.isDirty else {
            records[id] = stored.value.map { Kept(value: $0, tag: stored.tag) }
            return
        }
        let tag = stored.value == nil ? nil : stored.tag
        if let mine = kept.value, mine > stored.value ?? -1 {
            records[id]?.tag = tag
        } else if kept.value == nil, stored.value != nil, kept.tag == stored.tag {
            records[id]?.tag = tag
        } else {
            records[id] = stored.value.map { Kept(value: $0, tag: stored.tag) }
            loop.remove(records: [.save(id), .delete(id)])
        }
    }

    private mutating func hear(
        _ change: OutgoingRecord,
        _ value: Int?,
        _ server: ModelServer,
        at now: Int64
    ) {
        let id = change.id
        switch sent[id] {
        case .success(let tag):
            records[id]?.tag = value == nil ? nil : tag
            if records[id]?.value == value {
                records[id]?.isDirty = false
                if value == nil { records[id] = nil }
            }
        case .failure(let error):
            switch error.code {
            case .serverRecordChanged:
                if let stored = server.record(id) { merge(id, stored, at: now) }
                if records[id]?.isDirty == true { loop.add(records: [change], at: now) }
            case .zoneNotFound:
                records[id]?.tag = nil
                loop.add(zones: [.save(id.zone)], records: [change], at: now)
            case .unknownItem:
                records[id]?.tag = nil
                loop.add(records: [change], at: now)
            default: break
            }
        case nil: break
        }
    }
}

extension SyncLoop {
    /// The next step, which stays the next.
    func peek(at now: Int64) -> SyncStep {
        var copy = self
        return copy.nextStep(at: now)
    }
}

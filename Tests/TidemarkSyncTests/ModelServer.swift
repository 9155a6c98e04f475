// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkModel
import TidemarkSync

/// What a sync loop needs of a server, in a few lines: zones with epochs, records with tags, tokens.
struct ModelServer {
    struct Stored: Equatable {
        var value: Int?
        var tag: Int
    }

    struct Zone {
        var records: [RecordID: Stored] = [:]
        var head: Int
        /// Tokens from before it are expired.
        var epoch: Int
        var isDeleted = false
    }

    private(set) var zones: [ZoneID: Zone] = [:]
    private var clock = 0
    /// Pages are so long.
    var pageLength = 3
    var user: UserID? = UserID("_anna")

    private mutating func tick() -> Int {
        clock += 1
        return clock
    }

    /// The live records.
    var values: [RecordID: Int] {
        var values: [RecordID: Int] = [:]
        for zone in zones.values where !zone.isDeleted {
            for (id, record) in zone.records { values[id] = record.value }
        }
        return values
    }

    /// Tokens of the list of zones from before it are expired.
    private var listEpoch = 0

    mutating func expireListTokens() { listEpoch = tick() }

    mutating func expireTokens(of zone: ZoneID) {
        let time = tick()
        zones[zone]?.epoch = time
    }

    mutating func apply(_ changes: [OutgoingZoneRequest]) -> [ZoneID: SyncError] {
        for change in changes {
            let time = tick()
            if change.isDeletion {
                zones[change.zone]?.isDeleted = true
                zones[change.zone]?.head = time
            } else if zones[change.zone]?.isDeleted ?? true {
                zones[change.zone] = Zone(head: time, epoch: time)
            }
        }
        return [:]
    }

    struct OutgoingZoneRequest {
        var zone: ZoneID
        var isDeletion = false
    }

    /// Saves if the tag is the newest.
    mutating func save(_ id: RecordID, _ value: Int?, tag: Int?) throws(SyncError) -> Int {
        guard let zone = zones[id.zone], !zone.isDeleted else {
            throw SyncError(.zoneNotFound, "There is no zone \(id.zone).")
        }
        let old = zone.records[id]
        if value != nil {
            if old?.value == nil, tag != nil { throw SyncError(.unknownItem, "It was deleted.") }
            if old?.value != nil, old?.tag != tag {
                throw SyncError(.serverRecordChanged, "It was changed.")
            }
        }
        let time = tick()
        zones[id.zone]?.records[id] = Stored(value: value, tag: time)
        zones[id.zone]?.head = time
        return time
    }

    func record(_ id: RecordID) -> Stored? { zones[id.zone]?.records[id] }

    /// A place, and when the token was handed out.
    private func token(_ place: Int) -> ChangeToken {
        ChangeToken(
            bytes: [place, clock].flatMap { number in
                withUnsafeBytes(of: number.littleEndian) { Array($0) }
            }
        )
    }

    private func content(_ token: ChangeToken?) -> (place: Int, time: Int) {
        guard let token else { return (0, .max) }
        func number(_ bytes: ArraySlice<UInt8>) -> Int {
            bytes.reversed().reduce(0) { $0 << 8 | Int($1) }
        }
        return (number(token.bytes[..<8]), number(token.bytes[8...]))
    }

    func zoneList(since token: ChangeToken?) -> SyncOutcome {
        let (start, time) = content(token)
        if time < listEpoch { return .failed(SyncError(.changeTokenExpired, "Too old.")) }
        // A list without a token leaves out what has ended.
        let found = zones.filter { $0.value.head > start && !(token == nil && $0.value.isDeleted) }
            .sorted { $0.value.head < $1.value.head }
        let page = found.prefix(2)
        let moreComing = found.count > page.count
        return .zoneList(
            changed: page.filter { !$0.value.isDeleted }.map(\.key),
            deleted: page.filter(\.value.isDeleted).map(\.key),
            token: self.token(moreComing ? page.last?.value.head ?? 0 : clock),
            moreComing: moreComing
        )
    }

    func changes(
        of id: ZoneID,
        since token: ChangeToken?
    ) throws(SyncError) -> (page: [(id: RecordID, record: Stored)], outcome: SyncOutcome) {
        guard let zone = zones[id], !zone.isDeleted else {
            throw SyncError(.zoneNotFound, "There is no zone \(id).")
        }
        let (start, time) = content(token)
        if time < zone.epoch { throw SyncError(.changeTokenExpired, "Too old.") }
        let found = zone.records.filter { $0.value.tag > start }
            .sorted { $0.value.tag < $1.value.tag }
        let page = found.prefix(pageLength).map { (id: $0.key, record: $0.value) }
        let moreComing = found.count > page.count
        let end = self.token(moreComing ? page.last?.record.tag ?? 0 : clock)
        return (page, .zoneChanges(isEmpty: page.isEmpty, token: end, moreComing: moreComing))
    }
}

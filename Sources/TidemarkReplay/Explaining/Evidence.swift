// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Tidemark
import TidemarkEvents
import TidemarkLog
import TidemarkModel

/// The journal entries about one record and one device.
struct Evidence {
    /// A request of the device about the record's zone, and its result.
    enum Answer {
        case told(Explanation.Delivery)
        case refused(Explanation.Refusal)
    }

    /// The device's requests for changes of the zone, oldest first.
    private(set) var answers: [Answer] = []
    /// The rejected saves and deletions of the record by any user, oldest first.
    private(set) var refusals: [Explanation.Refusal] = []
    /// The user of the device.
    private(set) var user: UserID?
    /// The time of the first entry.
    private(set) var firstTime: Int64?
    /// The periods in which the pages sent to devices are unknown; the last may be open.
    private(set) var blindSpans: [(from: Int64, to: Int64?)] = []
    /// Entries that could not be written.
    private(set) var lostCount: UInt64 = 0
    /// Places of the journal that are damaged.
    private(set) var damageCount = 0
    /// True if the journal has an entry of the device, whatever it is about.
    private(set) var hasDevice = false
    /// The devices of the latest entries, the latest first; at most ten.
    private(set) var devices: [String] = []

    private let record: RecordID
    private let identity: ZoneIdentity
    private let device: String
    private let asksForUser: Bool
    /// True if the user is that of a call about the zone.
    private var isUserOfZone = false
    /// The opening that wrote the last entry: since when, and whether it took in everything.
    private var opening: (from: Int64, isFull: Bool)?
    private var lastTime: Int64 = .min

    init(of record: RecordID, in database: DatabaseID, from device: String, of user: UserID?) {
        self.record = record
        self.device = device
        self.user = user
        asksForUser = user == nil
        identity = ZoneIdentity(database: database, zoneName: record.zone.name)
    }

    mutating func add(_ entry: JournalEntry) {
        if firstTime == nil {
            firstTime = entry.time
            // The entry about the opening may have been dropped; a page proves that the journal was
            // full.
            opening = (entry.time, false)
            if case .began = entry.content { opening = nil }
        }
        switch entry.content {
        case .began(let extent):
            // Without an end the process was killed, and its last actions are unknown.
            if let opening {
                // A session that recorded pages vouches for the time up to its last entry. One that
                // recorded only rejections vouches for nothing.
                blindSpans.append((opening.isFull ? lastTime : opening.from, entry.time))
            }
            opening = (entry.time, extent == .full)
        case .ended:
            if let opening, !opening.isFull { blindSpans.append((opening.from, entry.time)) }
            opening = nil
        case .refused(let refused):
            note(refused.caller)
            takeUser(of: refused.caller, refused.refusals.compactMap(\.item?.zone))
            add(refused, at: entry.time)
        case .told(let told):
            note(told.caller)
            takeUser(of: told.caller, told.zone.map { [$0] } ?? [])
            opening?.isFull = true
            if told.call == .zoneChanges, let zone = told.zone,
                identity.isNamed(zone, in: told.caller.database),
                isDevice(told.caller)
            {
                answers.append(.told(Explanation.Delivery(time: entry.time, told: told)))
            }
        }
        lastTime = entry.time
    }

    mutating func finish(_ standing: JournalStanding) {
        lostCount = standing.lostCount
        damageCount = standing.damage.count
        if let opening, !opening.isFull { blindSpans.append((opening.from, nil)) }
        // Of several users the last one counts.
        answers.removeAll { answer in
            switch answer {
            case .told(let delivery): delivery.told.caller.user != user
            case .refused(let refusal): refusal.refused.caller.user != user
            }
        }
    }

    /// The maximum number of devices that are remembered.
    private static let deviceLimit = 10

    /// Remembers the device of an entry.
    private mutating func note(_ caller: Caller) {
        guard let device = caller.device, device != devices.first else { return }
        if Name(device) == Name(self.device) { hasDevice = true }
        devices.removeAll { $0 == device }
        devices.insert(device, at: 0)
        if devices.count > Self.deviceLimit { devices.removeLast() }
    }

    private mutating func add(_ refused: JournalEntry.Refused, at time: Int64) {
        let isFromDevice = isDevice(refused.caller)
        for refusal in refused.refusals {
            switch (refused.call, refusal.item) {
            case (.modifyRecords, .record(let id)):
                guard id.name == record.name, identity.isNamed(id.zone, in: refused.caller.database)
                else { continue }
                refusals.append(explained(refusal, of: refused, at: time))
            case (.zoneChanges, .zone(let zone)):
                guard isFromDevice, identity.isNamed(zone, in: refused.caller.database) else {
                    continue
                }
                answers.append(.refused(explained(refusal, of: refused, at: time)))
            default: continue
            }
        }
    }

    /// Returns a rejection, with the rejection in the same call that caused it.
    private func explained(
        _ refusal: JournalEntry.Refusal,
        of refused: JournalEntry.Refused,
        at time: Int64
    ) -> Explanation.Refusal {
        var found = Explanation.Refusal(time: time, refused: refused, refusal: refusal)
        if refusal.message.isEmpty {
            found.reason = refused.refusals.first { !$0.message.isEmpty }
        }
        return found
    }

    private func isDevice(_ caller: Caller) -> Bool {
        caller.device.map { Name($0) } == Name(device)
    }

    /// Remembers the user of a call of the device about some zones, if it is not known whose device it
    /// is.
    ///
    /// In another container, a device of the same name may belong to another user. If several users
    /// share a device, those of calls about the record's zone count first.
    private mutating func takeUser(of caller: Caller, _ zones: [ZoneID]) {
        guard asksForUser, isDevice(caller), let found = caller.user,
            caller.database.container == identity.database.container,
            caller.database.environment == identity.database.environment
        else { return }
        let isOfZone = zones.contains { identity.isNamed($0, in: caller.database) }
        guard isOfZone || !isUserOfZone else { return }
        user = found
        isUserOfZone = isOfZone
    }
}

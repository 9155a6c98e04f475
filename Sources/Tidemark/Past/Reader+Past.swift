// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel
import TidemarkRules
import TidemarkViews

extension Reader {
    /// A record as a client fetches it as of a position.
    func record(
        _ id: RecordID,
        as caller: Caller,
        asOf position: SequenceNumber,
        _ picture: ViewPicture
    ) throws(SyncError) -> Record {
        try checkName(of: id.zone, in: caller.database)
        do throws(SyncError) {
            return try record(id, of: caller.database, asOf: position)
        } catch {
            if error.code == .unknownItem, let blank = caller.blankUserRecord(id) { return blank }
            guard error.code == .zoneNotFound else { throw error }
            let zone = ZoneIdentity(database: caller.database, zoneName: id.zone.name)
            let end = try self.picture(asOf: position, picture).zone(zone).end
            throw .zoneGone(id.zone, end ?? .deleted, isPast: true)
        }
    }

    /// Returns a picture of the store as of a position, or as it is now.
    ///
    /// While `now` is held, the log keeps the events that the picture reads.
    func picture(
        asOf position: SequenceNumber?,
        _ now: ViewPicture
    ) throws(SyncError) -> any Picture {
        guard let position else { return LivePicture(views: now) }
        return FoldedPicture(self, now, through: try check(position, now))
    }

    /// Returns the same for a position that the store has; it folds nothing if there are no later
    /// events.
    func picture(
        throughChecked bound: SequenceNumber,
        _ now: ViewPicture
    ) throws(SyncError) -> any Picture {
        try picture(asOf: bound == now.bound ? nil : bound, now)
    }
}

// MARK: - What system zones held

extension Reader {
    /// See ``Store/subscriptions(as:asOf:)``.
    func subscriptions(
        as caller: Caller,
        asOf position: SequenceNumber
    ) throws(SyncError) -> [Subscription] {
        try checkAccess(of: caller, writes: false)
        let holder = try holder(of: caller)
        var found: [Subscription] = []
        var failure: SyncError?
        do throws(SyncError) {
            let zone = SystemZone.subscriptions.zone
            try visitRecords(of: .ofStore, in: zone, asOf: position) { record in
                do throws(SyncError) {
                    let held = try SubscriptionRecords.read(record.body)
                    if held.holder == holder { found.append(held.subscription) }
                } catch {
                    failure = error
                }
                return failure == nil
            }
        } catch  where error.code == .zoneNotFound {
            return []
        }
        if let failure { throw failure }
        return found.sorted { $0.name < $1.name }
    }

    /// See ``Store/fetchSubscriptions(_:as:asOf:)``.
    func fetchSubscriptions(
        _ ids: [String],
        as caller: Caller,
        asOf position: SequenceNumber
    ) throws(SyncError) -> [Result<Subscription, SyncError>] {
        try options.limits.check(itemCount: ids.count)
        let saved = try subscriptions(as: caller, asOf: position)
        return ids.map { id in
            saved.first { $0.name == Name(id) }.map { .success($0) }
                ?? .failure(.noSubscription(id))
        }
    }

    /// The account of the user in a lookup as it was after an event; `nil` if there was none.
    func account(
        of lookup: UserLookup,
        in database: DatabaseID,
        asOf position: SequenceNumber
    ) throws(SyncError) -> UserAccount? {
        let id = RecordID(
            recordName: AccountRecords.recordName(of: lookup).string,
            zone: SystemZone.users.zone
        )
        let body: RecordBody
        do throws(SyncError) {
            body = try record(id, of: database.ofSystemZones, asOf: position).body
        } catch  where error.code == .unknownItem || error.code == .zoneNotFound {
            return nil
        }
        guard case .user = lookup else {
            guard let user = AccountRecords.owner(in: body) else { return nil }
            return try account(of: .user(user), in: database, asOf: position)
        }
        return AccountRecords.account(in: body)
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkEvents
import TidemarkLog
import TidemarkModel
import TidemarkRules
import TidemarkViews

extension Notifications {
    /// See ``Store/notificationChanges(_:as:)``.
    func notificationChanges(
        _ request: NotificationChangesRequest,
        as caller: Caller
    ) throws(SyncError) -> NotificationChanges {
        try reader.checkAccess(of: caller, writes: false)
        var page = try notificationPage(request, of: try reader.holder(of: caller))
        page.lines.removeAll { $0.isOwn(of: caller) }
        reader.note(
            JournalEntry.Told(
                .notifications,
                caller,
                since: request.since,
                token: page.token,
                shownThrough: page.shownThrough,
                changeCount: page.lines.count,
                moreComing: page.moreComing
            )
        )
        return NotificationChanges(
            notifications: page.lines.map(\.notification),
            token: page.token,
            moreComing: page.moreComing
        )
    }

    /// One page of the notifications of a holder's user, those of a client's own changes included.
    func notificationPage(
        _ request: NotificationChangesRequest,
        of holder: SubscriptionHolder
    ) throws(SyncError) -> PushPage {
        let limit = try reader.pageLimit(request.limit)
        let picture = try reader.picture(.visible)
        let zone = try notificationsZone(of: holder, picture)
        let changes = ZoneChangesRequest(zone: zone.zone, since: request.since)
        let start = try reader.start(
            of: changes,
            zone.identity,
            zone.key,
            quiet: picture.bound,
            0,
            picture
        )
        // Notifications that were dropped before a client without a token began do not concern it.
        if try max(start.sequence, start.quiet) < lastDropped(from: holder.collection, picture) {
            throw .tokenExpired("notifications that the client had not fetched were dropped")
        }
        func token(at sequence: SequenceNumber) -> ChangeToken {
            let quiet = start.quiet > sequence ? start.quiet : 0
            return self.reader.token(
                .zone,
                place: zone.key?.rawValue ?? 0,
                at: sequence,
                quiet: quiet
            )
        }
        guard let key = zone.key else {
            return PushPage(
                lines: [],
                token: token(at: picture.bound),
                moreComing: false,
                shownThrough: picture.bound
            )
        }
        // One entry more than the page holds shows if there is more.
        var budget = reader.scanBudget()
        let versions = try reader.scan(
            key,
            after: start.sequence,
            quiet: start.quiet,
            limit: limit + 1,
            budget: &budget,
            picture
        )
        let wanted = versions.entries.prefix(limit).map(\.sequence)
        let isFull = versions.entries.count > wanted.count
        let end = isFull ? wanted.last : versions.end
        var page = PushPage(
            lines: [],
            token: token(at: end ?? picture.bound),
            moreComing: end != nil,
            shownThrough: picture.bound
        )
        try reader.source.visit(wanted) { (event) throws(SyncError) in
            if let line = try line(event, of: holder, token(at: event.sequence)) {
                page.lines.append(line)
            }
            return true
        }
        return page
    }

    /// The zone with the notifications of a holder's user; without a key while there were none.
    func notificationsZone(
        of holder: SubscriptionHolder,
        _ picture: ViewPicture
    ) throws(SyncError) -> ConsultedZone {
        var zones = ConsultedZones(includesSystem: true)
        let index = try zones.index(
            of: SystemZone.notifications.zone,
            in: holder.collection,
            creating: .every,
            picture.facts,
            reader.options.limits
        )
        if let error = zones[index].error { throw error }
        return zones[index]
    }

    /// Returns the notification of a collection's event; `nil` if the event makes none.
    private func line(
        _ event: LogEvent,
        of holder: SubscriptionHolder,
        _ token: ChangeToken
    ) throws(SyncError) -> PushPage.Line? {
        let stored = try event.readRecord()
        guard stored.event.state == .tombstone else {
            let body = try stored.readBody()
            let id = TagContent(of: event.sequence, in: reader.line).tag.text
            return PushPage.Line(
                notification: try NotificationRecords.read(body, id: id, of: holder),
                change: NotificationRecords.change(of: body) ?? id,
                token: token,
                origin: .device(NotificationRecords.origin(of: body).map { Name($0) })
            )
        }
        // Dropped by the store itself, and not read: the client has fetched it.
        if CommitEnvelope.isOfStore(event.envelope.span.bytes) { return nil }
        let envelope = try reader.readEnvelope(event.envelope)
        let read = stored.event.previous
        if read == 0 { return nil }
        let id = TagContent(of: read, in: reader.line).tag.text
        var notification = Subscription.Notification(.read, id: id, of: holder.user)
        notification.container = holder.database.container
        return PushPage.Line(
            notification: notification,
            change: id,
            token: token,
            origin: .reading(
                user: envelope.user.map { Name($0) },
                device: envelope.device.map { Name($0) }
            )
        )
    }

    /// Returns a token after all existing notifications.
    func notificationToken(of holder: SubscriptionHolder) throws(SyncError) -> ChangeToken {
        let picture = try reader.picture(.visible)
        let key = try notificationsZone(of: holder, picture).key ?? 0
        return reader.token(.zone, place: key.rawValue, at: picture.bound)
    }
}

// MARK: - Marking as read

extension Notifications {
    /// See ``Store/markNotificationsRead(_:as:)``.
    func markNotificationsRead(
        _ ids: [String],
        as caller: Caller
    ) async throws(SyncError) -> [Result<String, SyncError>] {
        let writer = try writer()
        try reader.checkAccess(of: caller, writes: true)
        let holder = try reader.holder(of: caller)
        try reader.options.limits.check(itemCount: ids.count)
        try await writer.committer.waitForRoom()
        while true {
            let picture = try reader.picture(.appended)
            let facts = picture.facts
            let zone = try notificationsZone(of: holder, picture)
            var change = SystemChange(zone: .notifications)
            var marked: Set<Name> = []
            var answers: [Result<String, SyncError>] = []
            for id in ids {
                guard let stored = try notified(id, in: zone) else {
                    answers.append(
                        .failure(SyncError(.unknownItem, "There is no notification \"\(id)\"."))
                    )
                    continue
                }
                answers.append(.success(id))
                let name = Name(try stored.readBody().recordName)
                let live = try facts.record(named: name, of: .notifications, in: holder.collection)
                // A later one in its place has not been read.
                if live?.sequence == stored.sequence, marked.insert(name).inserted {
                    change.deletions.append(name)
                }
            }
            // The answers may rest on notifications and deletions that are not durable yet. The
            // picture's bound covers all of them.
            if change.isEmpty {
                try await writer.committer.waitUntilDurable(picture.bound)
                return answers
            }
            guard
                let last = try writer.append(change, to: holder.collection, as: caller, picture)
            else { continue }
            try await writer.committer.waitUntilDurable(last)
            // The user's other clients receive the ids as read.
            try notifier().news.tell(about: [holder.collection])
            return answers
        }
    }

    /// The record of a notification by its id; `nil` if there never was such a one in a zone.
    private func notified(_ id: String, in zone: ConsultedZone) throws(SyncError) -> StoredRecord? {
        // An id is the change tag of the notification's event. It counts only if that incarnation
        // wrote the position, and no client has one of an event that is not durable.
        guard let key = zone.key, let content = TagContent(RecordChangeTag(id)),
            content.matches(content.sequence, in: reader.line),
            content.sequence <= reader.source.durableSequence
        else { return nil }
        var found: StoredRecord?
        try reader.source.visit([content.sequence]) { (event) throws(SyncError) in
            guard event.zone == key else { return true }
            do throws(EventFormatError) {
                found = try StoredRecord(event.sequence, zone: event.zone, event.payload)
            } catch {
                // The zone's own beginning has its key too.
                found = nil
            }
            return true
        }
        return found?.event.state == .live ? found : nil
    }
}

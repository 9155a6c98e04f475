// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Testing
import Tidemark
import TidemarkLog
import TidemarkModel

extension Client {
    /// Another client of the same store.
    func client(
        _ user: String = "_anna",
        on device: String? = "laptop",
        in database: DatabaseID? = nil
    ) -> Client {
        var client = self
        client.caller.user = UserID(user)
        client.caller.device = device
        if let database { client.caller.database = database }
        return client
    }

    /// Saves subscriptions; throws if one is refused.
    func subscribe(_ subscriptions: Subscription...) async throws {
        let request = ModifySubscriptionsRequest(saves: subscriptions)
        let result = try await store.modifySubscriptions(request, as: caller)
        for save in result.saves { _ = try save.get() }
    }

    /// Saves a subscription by query.
    func subscribe(
        _ id: String,
        to type: String = "Note",
        where predicate: Query.Predicate = .always,
        on options: Subscription.Options = [.create, .update, .delete],
        in zone: ZoneID? = nil,
        content: NotificationContent = NotificationContent()
    ) async throws {
        let query = Subscription.RecordQuery(
            recordType: type,
            predicate: predicate,
            options: options,
            zone: zone
        )
        try await subscribe(Subscription(id, .query(query), content: content))
    }

    func unsubscribe(_ ids: String...) async throws {
        let request = ModifySubscriptionsRequest(deletions: ids)
        _ = try await store.modifySubscriptions(request, as: caller)
    }

    /// The error of saving a subscription; `nil` if it is saved.
    func refusal(of subscription: Subscription) async throws -> SyncError? {
        let request = ModifySubscriptionsRequest(saves: [subscription])
        return try await store.modifySubscriptions(request, as: caller).saves[0].error
    }

    /// All pages of the client's notifications, after everything was notified of.
    func heard(
        since token: ChangeToken? = nil,
        limit: Int? = nil
    ) async throws -> (notifications: [Subscription.Notification], token: ChangeToken) {
        try await store.waitUntilNotified()
        var notifications: [Subscription.Notification] = []
        var token = token
        while true {
            let page = try await store.notificationChanges(
                NotificationChangesRequest(since: token, limit: limit),
                as: caller
            )
            notifications += page.notifications
            token = page.token
            if !page.moreComing { return (notifications, page.token) }
        }
    }

    /// What the client hears, in short.
    func summary(since token: ChangeToken? = nil) async throws -> [String] {
        try await heard(since: token).notifications.map(\.summary)
    }
}

extension Subscription.Notification {
    /// What it is about, in short.
    var summary: String {
        let what = [
            subscriptionID, kind.rawValue, reason.map { "\($0)" },
            recordID?.recordName ?? zone?.zoneName,
        ]
        return what.compactMap(\.self).joined(separator: " ")
    }
}

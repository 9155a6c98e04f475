// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Tidemark
import TidemarkModel
import Workload

extension TidemarkContender {
    /// Lets a hundred users subscribe to pages by their titles: to every n-th of those that come.
    package func subscribe(count: Int, every step: Int, from first: Int) async throws {
        let perUser = max(1, count / 100)
        var saves: [Subscription] = []
        for index in 0..<count {
            var title: [UInt8] = []
            let number = first + index * step
            Change(zone: number % 4, number: number).appendTitle(to: &title)
            saves.append(
                Subscription(
                    "title-\(index)",
                    .query(
                        Subscription.RecordQuery(
                            recordType: "Page",
                            predicate: .compare(
                                "title",
                                .equal,
                                .value(.string(String(decoding: title, as: UTF8.self)))
                            )
                        )
                    )
                )
            )
            if saves.count == perUser || index == count - 1 {
                let caller = Caller(
                    database: .standard,
                    user: UserID("_user-\(index / perUser)"),
                    device: "phone"
                )
                let request = ModifySubscriptionsRequest(saves: saves)
                let result = try await store.modifySubscriptions(request, as: caller)
                for save in result.saves { _ = try save.get() }
                saves = []
            }
        }
    }

    /// Waits until everything that was saved was notified of.
    package func waitUntilNotified() async throws {
        try await store.waitUntilNotified()
    }

    /// How many notifications the users have.
    package func notificationCount() async throws -> Int {
        var count = 0
        for user in 0..<100 {
            let caller = Caller(
                database: .standard,
                user: UserID("_user-\(user)"),
                device: "tablet"
            )
            var token: ChangeToken?
            while true {
                let request = NotificationChangesRequest(since: token)
                let page = try await store.notificationChanges(request, as: caller)
                count += page.notifications.count
                token = page.token
                if !page.moreComing { break }
            }
        }
        return count
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Testing
import Tidemark
import TidemarkModel

extension ServicePromise {
    func users(_ hosted: some ServiceHosting) async throws {
        let ben = try await hosted.user("ben")
        var account = UserAccount(ben)
        account.emails = ["ben@example.com"]
        account.isDiscoverable = true
        try await hosted.store.setUser(account)
        let anna = try await hosted.device("anna")
        #expect(try await anna.service.currentUser(as: anna.caller) == anna.caller.user)
        #expect(try await anna.service.accountStatus(as: anna.caller) == .available)
        let lookups = [UserLookup("ben@example.com"), UserLookup("nobody@example.com")]
        let found = try await anna.service.lookUpUsers(lookups, as: anna.caller)
        #expect(found.map { $0?.user } == [ben, nil])
        #expect(try await anna.service.contacts(as: anna.caller).isEmpty)
    }

    func shares(_ hosted: some ServiceHosting) async throws {
        let anna = try await hosted.device("anna")
        try await anna.createZone()
        try await anna.save("root", ["n": 1])
        let content = ShareContent(root: "root", publicPermission: .readOnly)
        let share = RecordSave(
            anna.id("share"),
            type: Share.recordType,
            fields: Fields(),
            policy: .changedKeys,
            share: content
        )
        let saved = try await anna.service.modifyRecords(
            ModifyRecordsRequest(saves: [share]),
            as: anna.caller
        )
        let made = try #require(try saved.saves[0].get().share)
        let link = hosted.store.url(of: made)

        var ben = try await hosted.device("ben")
        ben.caller.database = DatabaseID(scope: .shared, owner: try await hosted.user("ben"))
        let owner = try await hosted.user("anna")
        ben.zone = ZoneID(zoneName: "Notes", ownerName: owner.userRecordName)
        let metadata = try await ben.service.shareMetadata(
            of: link,
            withRootRecord: true,
            as: ben.caller
        )
        #expect(metadata.rootRecord?.fields["n"] == .int64(1))
        #expect(metadata.owner == owner)
        let accepted = try await ben.service.acceptShare(link, as: ben.caller)
        #expect(accepted.share?.token == made.token)
        #expect(try await ben.fetch("root").fields["n"] == .int64(1))
        #expect(try await ben.changes().changes.count == 2)
        // Whoever takes part already has nothing to ask for.
        try await ben.service.requestShareAccess(link, as: ben.caller)
        let error = try await #require(throws: SyncError.self) {
            try await ben.service.requestShareAccess(link + "x", as: ben.caller)
        }
        let direct = try await #require(throws: SyncError.self) {
            try await hosted.store.requestShareAccess(link + "x", as: hosted.trusted(ben.caller))
        }
        #expect(error == direct)
    }

    func subscriptions(_ hosted: some ServiceHosting) async throws {
        let phone = try await hosted.device("anna", "phone")
        let pad = try await hosted.device("anna", "pad")
        try await phone.createZone()
        let wanted = Subscription(
            "new",
            .query(Subscription.RecordQuery(recordType: "Note", options: .create))
        )
        let kept = try await pad.service.modifySubscriptions(
            ModifySubscriptionsRequest(saves: [wanted], deletions: ["none"]),
            as: pad.caller
        )
        #expect(try kept.saves[0].get() == wanted)
        #expect(try await pad.service.subscriptions(as: pad.caller) == [wanted])
        let found = try await pad.service.fetchSubscriptions(["no", "new"], as: pad.caller)
        #expect(found[0].error?.code == .unknownItem)
        #expect(try found[1].get() == wanted)

        let token = try await pad.service.notificationToken(as: pad.caller)
        let stream = try await pad.service.notifications(since: token, as: pad.caller)
        let count = 25
        let reader = Task {
            var heard: [Subscription.Push] = []
            for try await push in stream {
                heard.append(push)
                if heard.count == count { break }
            }
            return heard
        }
        for number in 0..<count { try await phone.save("r\(number)", ["n": 1]) }
        let heard = try await reader.value
        #expect(heard.map(\.notification.recordID?.recordName) == (0..<count).map { "r\($0)" })
        let page = try await pad.service.notificationChanges(
            NotificationChangesRequest(since: token),
            as: pad.caller
        )
        #expect(page.notifications == heard.map(\.notification))
        let read = try await pad.service.markNotificationsRead(
            [try #require(page.notifications[0].id), "no"],
            as: pad.caller
        )
        #expect(read[0].error == nil)
        #expect(read[1].error?.code == .unknownItem)
    }

    func accountStatuses(_ hosted: some ServiceHosting) async throws {
        let anna = try await hosted.device("anna")
        let stream = try await anna.service.accountStatuses(as: anna.caller)
        var statuses = stream.makeAsyncIterator()
        #expect(try await statuses.next() == .available)
        for status in [AccountStatus.restricted, .temporarilyUnavailable, .available] {
            var account = UserAccount(try await hosted.user("anna"))
            account.status = status
            try await hosted.store.setUser(account)
            #expect(try await statuses.next() == status)
        }
    }
}

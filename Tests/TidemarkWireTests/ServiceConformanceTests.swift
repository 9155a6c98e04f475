// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Testing
import Tidemark
import TidemarkModel

/// The promises of a `DatabaseService`, on every way to a store.
@Suite struct ServiceConformanceTests {
    @Test(arguments: ServiceHost.allCases)
    func `records of every type of field come back as they were saved`(
        host: ServiceHost
    ) async throws {
        let hosted = try host.open()
        let anna = hosted.device("anna")
        try await anna.createZone()
        let fields: KeyValuePairs<String, FieldValue?> = [
            "text": "Grüße \u{1F30A} \"\\\"\u{0}", "number": -9, "double": 1.5,
            "date": .timestamp(1_700_000_000_123),
            "bytes": .bytes([0, 255, 10]), "place": .location(Location(latitude: 1, longitude: -2)),
            "texts": .stringList(["a", "", "c"]), "numbers": .int64List([1, .max, .min]),
            "to": .reference(Reference(recordName: "other")),
        ]
        let saved = try await anna.save("all", fields)
        let fetched = try await anna.fetch("all")
        #expect(fetched == saved)
        #expect(fetched.fields == (try Fields(fields)))
        #expect(fetched.recordType == "Note")
        let delta = try await anna.changes()
        #expect(delta.changes == [.changed(saved)])
        // Only what is wanted.
        let part = try await anna.service.fetchRecords(
            FetchRecordsRequest([anna.id("all")], desiredKeys: ["text"]),
            as: anna.caller
        )
        #expect(try part[0].get().fields == (try Fields(["text": fields[0].value])))
    }

    @Test(arguments: ServiceHost.allCases)
    func `a conflict carries the server's record, its ancestor and the client's`(
        host: ServiceHost
    ) async throws {
        let hosted = try host.open()
        let phone = hosted.device("anna")
        let pad = hosted.device("anna", "pad")
        try await phone.createZone()
        let first = try await phone.save("r", ["n": 1])
        let second = try await pad.save("r", ["n": 2], tag: first.changeTag)
        let error = try await #require(throws: SyncError.self) {
            try await phone.save("r", ["n": 3], tag: first.changeTag)
        }
        #expect(error.code == .serverRecordChanged)
        #expect(error.conflict?.server == second)
        #expect(error.conflict?.ancestor == first)
        // Both tell the same, word for word.
        let plain = try await #require(throws: SyncError.self) {
            let save = RecordSave(
                phone.id("r"),
                type: "Note",
                fields: try Fields(["n": 3]),
                changeTag: first.changeTag
            )
            var caller = phone.caller
            caller.authentication = .administrator(id: "a")
            let request = ModifyRecordsRequest(saves: [save])
            _ = try await hosted.store.modifyRecords(request, as: caller).saves[0].get()
        }
        #expect(error.message == plain.message)
        #expect(error.conflict?.server == plain.conflict?.server)
    }

    @Test(arguments: ServiceHost.allCases)
    func `items fail alone, and together where they are atomic`(host: ServiceHost) async throws {
        let hosted = try host.open()
        let anna = hosted.device("anna")
        try await anna.createZone()
        try await anna.save("old", ["n": 1])
        func saves() throws -> [RecordSave] {
            try ["old", "new"].map {
                RecordSave(anna.id($0), type: "Note", fields: try Fields(["n": 5]))
            }
        }
        let atomic = try await anna.service.modifyRecords(
            ModifyRecordsRequest(saves: try saves(), deletions: [RecordDeletion(anna.id("gone"))]),
            as: anna.caller
        )
        #expect(atomic.saves.map { $0.error?.code } == [.serverRecordChanged, .batchRequestFailed])
        let alone = try await anna.service.modifyRecords(
            ModifyRecordsRequest(saves: try saves(), isAtomic: false),
            as: anna.caller
        )
        #expect(alone.saves.map { $0.error?.code } == [.serverRecordChanged, nil])
        let deleted = try await anna.service.modifyRecords(
            ModifyRecordsRequest(deletions: [RecordDeletion(anna.id("new"))]),
            as: anna.caller
        )
        #expect(try deleted.deletions[0].get() == anna.id("new"))
        let found = try await anna.service.fetchRecords(
            FetchRecordsRequest([anna.id("new"), anna.id("old")]),
            as: anna.caller
        )
        #expect(found[0].error?.code == .unknownItem)
        #expect(try found[1].get().fields == (try Fields(["n": 1])))
    }

    @Test(arguments: ServiceHost.allCases)
    func `a write under one request id is done once`(host: ServiceHost) async throws {
        let hosted = try host.open()
        var anna = hosted.device("anna")
        try await anna.createZone()
        anna.caller.requestID = "r1"
        let first = try await anna.save("a", ["n": 1])
        let again = try await anna.save("a", ["n": 1])
        #expect(first == again)
        await #expect(throws: SyncError.self) { try await anna.save("a", ["n": 2]) }
    }

    @Test(arguments: ServiceHost.allCases)
    func `deltas come in pages, by records and by bytes`(host: ServiceHost) async throws {
        let hosted = try host.open()
        let anna = hosted.device("anna")
        try await anna.createZone()
        for number in 0..<30 {
            try await anna.save("r\(number)", ["text": .string(String(repeating: "x", count: 300))])
        }
        let whole = try await anna.changes()
        #expect(whole.changes.count == 30)
        let byRecords = try await anna.changes(limit: 7)
        #expect(byRecords.changes == whole.changes)
        #expect(byRecords.pageCount == 5)
        let byBytes = try await anna.changes(byteLimit: 2_000)
        #expect(byBytes.changes == whole.changes)
        #expect(byBytes.pageCount > 3)
        #expect(try await anna.changes(since: whole.token).changes.isEmpty)
        _ = try await anna.service.modifyRecords(
            ModifyRecordsRequest(deletions: [RecordDeletion(anna.id("r3"))]),
            as: anna.caller
        )
        let last = try await anna.changes(since: whole.token)
        guard case .deleted(let deleted)? = last.changes.first, last.changes.count == 1 else {
            Issue.record("the delta is \(last.changes)")
            return
        }
        #expect(deleted.recordID == anna.id("r3"))
        #expect(deleted.recordType == "Note")
    }

    @Test(arguments: ServiceHost.allCases)
    func `zones are listed, told of and deleted`(host: ServiceHost) async throws {
        let hosted = try host.open()
        let anna = hosted.device("anna")
        let service = anna.service
        let start = try await service.databaseChanges(DatabaseChangesRequest(), as: anna.caller)
        for name in ["b", "a"] {
            let request = ModifyZonesRequest(saves: [ZoneID(zoneName: name)])
            let result = try await service.modifyZones(request, as: anna.caller)
            #expect(try result.saves[0].get().zoneID.zoneName == name)
        }
        #expect(
            try await service.zones(as: anna.caller).map(\.zoneID.zoneName) == [
                "_defaultZone", "a", "b",
            ]
        )
        let later = try await service.databaseChanges(
            DatabaseChangesRequest(since: start.token),
            as: anna.caller
        )
        #expect(later.changes.count == 2)
        let removal = ModifyZonesRequest(deletions: [ZoneID(zoneName: "a")])
        _ = try await service.modifyZones(removal, as: anna.caller)
        let gone = try await service.databaseChanges(
            DatabaseChangesRequest(since: later.token),
            as: anna.caller
        )
        let direct = try await hosted.store.databaseChanges(
            DatabaseChangesRequest(since: later.token),
            as: hosted.trusted(anna.caller)
        )
        #expect(gone.changes == direct.changes)
        #expect(gone.changes.count == 1)
        let request = ZoneChangesRequest(zone: ZoneID(zoneName: "a"))
        let error = try await #require(throws: SyncError.self) {
            try await service.zoneChanges(request, as: anna.caller)
        }
        #expect(error.code == .zoneNotFound)
    }

    @Test(arguments: ServiceHost.allCases)
    func `queries are answered in their order, a page at a time`(host: ServiceHost) async throws {
        let hosted = try host.open()
        let anna = hosted.device("anna")
        try await anna.createZone()
        for number in 0..<12 {
            try await anna.save(
                "r\(number)",
                ["n": .int64(Int64(number)), "odd": .int64(Int64(number % 2))]
            )
        }
        let query = Query(
            recordType: "Note",
            predicate: try Query.Predicate(format: "odd == 1 AND n > 2"),
            sortDescriptors: [Query.SortDescriptor(.field("n"), ascending: false)]
        )
        var request = QueryRequest(query, in: anna.zone, limit: 2)
        var names: [String] = []
        repeat {
            let page = try await anna.service.query(request, as: anna.caller)
            names += page.records.map(\.recordID.recordName)
            request.cursor = page.cursor
        } while request.cursor != nil
        #expect(names == ["r11", "r9", "r7", "r5", "r3"])
    }

    @Test(arguments: ServiceHost.allCases)
    func `assets are uploaded, held, and downloaded whole and in part`(
        host: ServiceHost
    ) async throws {
        let hosted = try host.open()
        let anna = hosted.device("anna")
        try await anna.createZone()
        let bytes = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        let upload = UploadAssetRequest(zone: anna.zone)
        let asset = try await anna.service.uploadAsset(bytes, upload, as: anna.caller)
        var other = asset
        other.checksum[0] ^= 1
        let held = HeldAssetsRequest([asset, other], zone: anna.zone)
        #expect(try await anna.service.heldAssets(held, as: anna.caller) == [true, false])
        let first = try await anna.save("a", ["file": .asset(asset)])
        let small = try await anna.service.uploadAsset([1, 2, 3], upload, as: anna.caller)
        try await anna.save("a", ["file": .asset(small)], tag: first.changeTag)

        func download(_ request: DownloadAssetRequest) async throws -> AssetDownload {
            try await anna.service.downloadAsset(request, as: anna.caller)
        }
        let latest = try await download(DownloadAssetRequest(anna.id("a"), field: "file"))
        #expect(try await latest.bytes() == [1, 2, 3])
        #expect(latest.byteCount == 3)
        var earlier = DownloadAssetRequest(anna.id("a"), field: "file", changeTag: first.changeTag)
        let whole = try await download(earlier)
        #expect(whole.changeTag == first.changeTag)
        #expect(try await whole.bytes() == bytes)
        earlier.range = 1_000_000..<2_500_000
        let part = try await download(earlier)
        #expect(part.byteCount == 3_000_000)
        #expect(try await part.bytes() == Array(bytes[1_000_000..<2_500_000]))
        await #expect(throws: SyncError.self) {
            try await download(DownloadAssetRequest(anna.id("a"), field: "none"))
        }
    }

    @Test(arguments: ServiceHost.allCases)
    func `users are found as they want to be`(host: ServiceHost) async throws {
        let hosted = try host.open()
        var account = UserAccount("ben")
        account.emails = ["ben@example.com"]
        account.isDiscoverable = true
        try await hosted.store.setUser(account)
        let anna = hosted.device("anna")
        #expect(try await anna.service.currentUser(as: anna.caller) == "anna")
        #expect(try await anna.service.accountStatus(as: anna.caller) == .available)
        let lookups = [UserLookup("ben@example.com"), UserLookup("nobody@example.com")]
        let found = try await anna.service.lookUpUsers(lookups, as: anna.caller)
        #expect(found.map { $0?.user } == ["ben", nil])
        #expect(try await anna.service.contacts(as: anna.caller).isEmpty)
    }

    @Test(arguments: ServiceHost.allCases)
    func `a share is made, followed, accepted and read`(host: ServiceHost) async throws {
        let hosted = try host.open()
        let anna = hosted.device("anna")
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

        var ben = hosted.device("ben")
        ben.caller.database = DatabaseID(scope: .shared, owner: "ben")
        ben.zone = ZoneID(zoneName: "Notes", ownerName: "anna")
        let metadata = try await ben.service.shareMetadata(
            of: link,
            withRootRecord: true,
            as: ben.caller
        )
        #expect(metadata.rootRecord?.fields["n"] == .int64(1))
        #expect(metadata.owner == "anna")
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

    @Test(arguments: ServiceHost.allCases)
    func `subscriptions are kept, and fire without a gap or a repetition`(
        host: ServiceHost
    ) async throws {
        let hosted = try host.open()
        let phone = hosted.device("anna", "phone")
        let pad = hosted.device("anna", "pad")
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

    @Test(arguments: ServiceHost.allCases)
    func `changes of an account are told once each`(host: ServiceHost) async throws {
        let hosted = try host.open()
        let anna = hosted.device("anna")
        let stream = try await anna.service.accountStatuses(as: anna.caller)
        var statuses = stream.makeAsyncIterator()
        #expect(try await statuses.next() == .available)
        for status in [AccountStatus.restricted, .temporarilyUnavailable, .available] {
            var account = UserAccount("anna")
            account.status = status
            try await hosted.store.setUser(account)
            #expect(try await statuses.next() == status)
        }
    }
}

extension Result where Failure == SyncError {
    /// The error, if it is one.
    var error: SyncError? {
        if case .failure(let error) = self { error } else { nil }
    }
}

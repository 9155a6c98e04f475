// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import Tidemark
import TidemarkModel

@testable import CloudKit
@testable import TidemarkCloudKit

/// Records of this module through a store and back.
final class SavingTests {
    private let folder: ScratchFolder
    private let store: Store
    private let caller = Caller(database: DatabaseID(owner: UserID("_anna")), user: UserID("_anna"))
    private let zoneID = CKRecordZone.ID(zoneName: "Notes")

    init() async throws {
        folder = try ScratchFolder()
        store = try Store.open(at: folder.path(), access: .creating)
        _ = try await store.modifyZones(ModifyZonesRequest(saves: [zoneID.model]), as: caller)
    }

    private func note(_ name: String = "n1") -> CKRecord {
        CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name, zoneID: zoneID))
    }

    private func save(
        _ records: CKRecord...,
        policy: SavePolicy = .ifServerRecordUnchanged
    ) async throws {
        let savings = try records.map { try $0.saving(policy, as: caller.user) }
        let request = ModifyRecordsRequest(saves: savings.map(\.model))
        let result = try await store.modifyRecords(request, as: caller)
        for (record, (saving, saved)) in zip(records, zip(savings, result.saves)) {
            do {
                record.wasSaved(saving, as: try saved.get(), seenBy: caller.user)
            } catch {
                throw CKError(error, client: record, seenBy: caller.user)
            }
        }
    }

    private func fetch(_ id: CKRecord.ID) async throws -> CKRecord {
        let found = try await store.fetchRecords(FetchRecordsRequest([id.model]), as: caller)
        return CKRecord.make(try found[0].get(), seenBy: caller.user)
    }

    @Test func `Every kind of value round-trips`() async throws {
        let record = note()
        let date = Date(timeIntervalSince1970: 1_767_225_600.25)
        let place = CLLocation(
            coordinate: CLLocationCoordinate2D(latitude: 52.5, longitude: 13.4),
            altitude: 35,
            horizontalAccuracy: 5,
            verticalAccuracy: 3,
            course: 90,
            speed: 1.5,
            timestamp: date
        )
        let link = CKRecord.Reference(
            recordID: CKRecord.ID(recordName: "list", zoneID: zoneID),
            action: .none
        )
        record["text"] = "Milk"
        record["count"] = -3
        record["done"] = true
        record["ratio"] = 2.0
        record["date"] = date
        record["data"] = Data([1, 2])
        record["place"] = place
        record["list"] = link
        record["texts"] = ["a", "b"]
        record["counts"] = [1, 2]
        record["ratios"] = [1, 2.5] as NSArray
        record["dates"] = [date]
        record["places"] = [place]
        record["links"] = [link]
        record["nothing"] = [Int]()
        record.encryptedValues["secret"] = "hidden"
        try await save(record)

        let read = try await fetch(record.recordID)
        #expect(read["text"] as? String == "Milk")
        #expect(read["count"] as? Int == -3)
        #expect(read["done"] as? Bool == true)
        #expect((read["ratio"] as? NSNumber)?.objCType.pointee == CChar(UInt8(ascii: "d")))
        #expect(read["date"] as? Date == date)
        #expect(read["data"] as? Data == Data([1, 2]))
        #expect(read["place"] as? CLLocation == place)
        #expect(read["list"] as? CKRecord.Reference == link)
        #expect(read["texts"] as? [String] == ["a", "b"])
        #expect(read["counts"] as? [Int] == [1, 2])
        #expect(read["ratios"] as? [Double] == [1, 2.5])
        #expect(read["dates"] as? [Date] == [date])
        #expect(read["places"] as? [CLLocation] == [place])
        #expect(read["links"] as? [CKRecord.Reference] == [link])
        #expect((read["nothing"] as? [Int])?.isEmpty == true)
        #expect(read.encryptedValues["secret"] as? String == "hidden")
        #expect(read["secret"] == nil)
        #expect(read.changedKeys().isEmpty)
        #expect(read.allKeys().sorted() == record.allKeys().sorted())

        // An empty list keeps its type when it is filled.
        read["nothing"] = [5]
        try await save(read)
        #expect(try await fetch(record.recordID)["nothing"] as? [Int] == [5])
    }

    @Test func `Saving sets the change tag, the dates and the users`() async throws {
        let record = note()
        record["text"] = "Milk"
        #expect(record.recordChangeTag == nil)
        #expect(record.creationDate == nil)
        try await save(record)
        #expect(record.recordChangeTag != nil)
        #expect(record.creatorUserRecordID?.recordName == CKCurrentUserDefaultName)
        #expect(record.modificationDate == record.creationDate)
        #expect(record.changedKeys().isEmpty)
        let tag = record.recordChangeTag
        record["text"] = "Bread"
        try await save(record)
        #expect(record.recordChangeTag != tag)
    }

    @Test func `Only changes are sent, and a change made during the save is kept`() async throws {
        let record = note()
        record["a"] = 1
        record["b"] = 2
        try await save(record)
        record["a"] = 10
        record["b"] = nil
        let saving = try record.saving(.ifServerRecordUnchanged)
        #expect(saving.model.fields.map(\.name) == ["a", "b"])
        #expect(saving.model.fields[1].isRemoved)
        record["a"] = 11
        let result = try await store.modifyRecords(
            ModifyRecordsRequest(saves: [saving.model]),
            as: caller
        )
        record.wasSaved(saving, as: try result.saves[0].get())
        #expect(record.changedKeys() == ["a"])
        #expect(record["a"] as? Int == 11)
        #expect(try record.saving(.allKeys).model.fields.map(\.name) == ["a"])
        let read = try await fetch(record.recordID)
        #expect(read["a"] as? Int == 10)
        #expect(read["b"] == nil)
    }

    @Test func `A record from archived system fields saves over its own version`() async throws {
        let record = note()
        record["a"] = 1
        record["b"] = 2
        try await save(record)
        let archiver = NSKeyedArchiver(requiringSecureCoding: true)
        record.encodeSystemFields(with: archiver)
        archiver.finishEncoding()
        let unarchiver = try NSKeyedUnarchiver(forReadingFrom: archiver.encodedData)
        let read = try #require(CKRecord(coder: unarchiver))
        #expect(read.recordChangeTag == record.recordChangeTag)
        #expect(read.creationDate == record.creationDate)
        #expect(read.modificationDate == record.modificationDate)
        #expect(read.creatorUserRecordID == record.creatorUserRecordID)
        read["a"] = 5
        try await save(read)
        let now = try await fetch(record.recordID)
        #expect(now["a"] as? Int == 5)
        #expect(now["b"] as? Int == 2)
    }

    @Test func `A conflict error contains three records`() async throws {
        let record = note()
        record["text"] = "first"
        try await save(record)
        let other = try await fetch(record.recordID)
        other["text"] = "theirs"
        try await save(other)
        record["text"] = "mine"
        let error = await #expect(throws: CKError.self) { try await save(record) }
        #expect(error?.code == .serverRecordChanged)
        #expect(error?.clientRecord === record)
        #expect(error?.serverRecord?["text"] as? String == "theirs")
        #expect(error?.ancestorRecord?["text"] as? String == "first")

        let server = try #require(error?.serverRecord)
        server["text"] = record["text"]
        try await save(server)
        #expect(try await fetch(record.recordID)["text"] as? String == "mine")
    }

    @Test func `Parents and references within the zone are saved`() async throws {
        let list = CKRecord("List", "list", in: zoneID)
        list["name"] = "x"
        let record = note()
        record.setParent(list)
        record["list"] = CKRecord.Reference(record: list, action: .deleteSelf)
        try await save(list, record)
        let read = try await fetch(record.recordID)
        #expect(read.parent?.recordID == list.recordID)
        #expect((read["list"] as? CKRecord.Reference)?.action == .deleteSelf)
        read.parent = nil
        try await save(read)
        #expect(try await fetch(record.recordID).parent == nil)
    }

    @Test func `Saving a value that cannot be stored throws and does not trap`() throws {
        let record = note()
        record["a"] = UInt64.max
        var error = #expect(throws: CKError.self) { try record.saving(.allKeys) }
        #expect(error?.code == .invalidArguments)
        record["a"] = Double.nan
        error = #expect(throws: CKError.self) { try record.saving(.allKeys) }
        #expect(error?.code == .invalidArguments)
        record["a"] = Date(timeIntervalSince1970: .infinity)
        error = #expect(throws: CKError.self) { try record.saving(.allKeys) }
        #expect(error?.code == .invalidArguments)
        record["a"] = CKAsset(fileURL: URL(fileURLWithPath: "/nowhere"))
        error = #expect(throws: CKError.self) { try record.saving(.allKeys) }
        #expect(error?.code == .assetFileNotFound)
        record["a"] = nil
        record.setParent(CKRecord.ID(recordName: "elsewhere"))
        error = #expect(throws: CKError.self) { try record.saving(.allKeys) }
        #expect(error?.code == .invalidArguments)
    }

    @Test func `A saved asset contains the reference that the service returned`() async throws {
        let record = note()
        let asset = CKAsset(fileURL: folder.url.appendingPathComponent("picture"))
        record["picture"] = asset
        record["text"] = "x"
        let sent = record.assets(toSaveUnder: .ifServerRecordUnchanged)
        #expect(sent.map(\.key) == ["picture"])
        let reference = try await store.uploadAsset(
            [1, 2, 3],
            UploadAssetRequest(zone: zoneID.model),
            as: caller
        )
        sent[0].asset.wasSent(as: reference)
        try await save(record)
        let read = try await fetch(record.recordID)
        let fetched = try #require(read["picture"] as? CKAsset)
        #expect(fetched.model == reference)
        #expect(fetched.fileURL == nil)
        let file = folder.url.appendingPathComponent("fetched")
        fetched.wasFetched(to: TemporaryFile(at: file))
        #expect(fetched.fileURL == file)
        #expect(read.assets.map(\.key) == ["picture"])
        #expect(try read.saving(.allKeys).model.fields["picture"] == .asset(reference))
    }

    @Test func `A share is saved with its root and round-trips`() async throws {
        let list = CKRecord("List", "list", in: zoneID)
        let share = CKShare(rootRecord: list)
        share[CKShare.SystemFieldKey.title] = "Shopping"
        #expect(list.share?.recordID == share.recordID)
        #expect(share.url == nil)
        #expect(share.owner.role == .owner)
        #expect(share.currentUserParticipant == share.owner)
        let guest = CKShare.Participant(
            CKUserIdentity(CKRecord.ID(recordName: "_bert"))
        )
        guest.permission = .readWrite
        share.addParticipant(guest)
        share.addParticipant(.oneTimeURLParticipant())
        try await save(list, share)
        #expect(share.url != nil)
        #expect(share.participants.count == 3)
        #expect(share.currentUserParticipant?.role == .owner)
        #expect(list.share?.recordID == share.recordID)

        let read = try #require(try await fetch(share.recordID) as? CKShare)
        #expect(read[CKShare.SystemFieldKey.title] as? String == "Shopping")
        #expect(read.allKeys() == [CKShare.SystemFieldKey.title])
        #expect(read.url == share.url)
        let invited = try #require(
            read.participants.first { $0.userIdentity.userRecordID?.recordName == "_bert" }
        )
        #expect(invited.permission == .readWrite)
        #expect(invited.acceptanceStatus == .pending)
        #expect(invited.role == .privateUser)
        let oneTime = try #require(read.participants.first { $0.isOneTime })
        #expect(read.oneTimeURL(for: oneTime.participantID) != nil)

        let url = try #require(read.url)
        let guestCaller = Caller(
            database: DatabaseID(scope: .shared, owner: UserID("_bert")),
            user: UserID("_bert")
        )
        let model = try await store.shareMetadata(
            of: url.absoluteString,
            withRootRecord: true,
            as: guestCaller
        )
        let metadata = try #require(
            CKShareMetadata(model, link: url.absoluteString, seenBy: guestCaller.user)
        )
        #expect(metadata.hierarchicalRootRecordID?.recordName == "list")
        #expect(metadata.participantStatus == .pending)
        #expect(metadata.participantPermission == .readWrite)
        #expect(metadata.rootRecord?.recordType == "List")
        #expect(metadata.ownerIdentity.userRecordID?.recordName == "_anna")
        let archived = try roundTrip(metadata)
        #expect(archived.share.recordID == metadata.share.recordID)
        #expect(archived.link == url.absoluteString)

        read.removeParticipant(invited)
        try await save(read)
        #expect(read.participants.count == 2)
    }

    @Test func `Access requests are approved, denied and blocked`() async throws {
        let list = CKRecord("List", "list", in: zoneID)
        let share = CKShare(rootRecord: list)
        share.allowsAccessRequests = true
        try await save(list, share)
        let link = try #require(share.url).absoluteString
        for name in ["_bert", "_carl", "_dora"] {
            let asking = Caller(
                database: DatabaseID(scope: .shared, owner: UserID(name)),
                user: UserID(name)
            )
            try await store.requestShareAccess(link, as: asking)
        }

        let read = try #require(try await fetch(share.recordID) as? CKShare)
        #expect(read.allowsAccessRequests)
        let requesters = read.requesters
        #expect(
            requesters.map(\.userIdentity.userRecordID?.recordName) == ["_bert", "_carl", "_dora"]
        )
        #expect(requesters[0].participantLookupInfo.userRecordID?.recordName == "_bert")
        read.addParticipant(CKShare.Participant(requesters[0].userIdentity))
        read.denyRequesters([requesters[1]])
        read.blockRequesters([requesters[2]])
        try await save(read)
        #expect(read.requesters.isEmpty)
        #expect(
            read.blockedIdentities.map(\.userIdentity.userRecordID?.recordName) == ["_dora"]
        )
        #expect(read.participants.contains { $0.isApprovedRequester })
        read.unblockIdentities(read.blockedIdentities)
        try await save(read)
        #expect(read.blockedIdentities.isEmpty)
    }

    @Test func `Tokens round-trip`() async throws {
        let changes = try await store.zoneChanges(
            ZoneChangesRequest(zone: zoneID.model),
            as: caller
        )
        let token = CKServerChangeToken(changes.token)
        let read = try roundTrip(token)
        #expect(read == token)
        #expect(try read.model == changes.token)
    }

    @Test func `Fetched zones contain their capabilities`() async throws {
        let zones = try await store.zones(as: caller)
        let zone = try #require(
            zones.map { CKRecordZone($0) }.first { $0.zoneID.zoneName == "Notes" }
        )
        #expect(zone.capabilities.contains([.atomic, .fetchChanges, .sharing]))
        #expect(CKRecordZone(zoneName: "Notes").capabilities.isEmpty)
    }
}

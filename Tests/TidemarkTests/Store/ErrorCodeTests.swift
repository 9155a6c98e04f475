// Tidemark
// SPDX-License-Identifier: Apache-2.0

import SimulatedDisk
import TestSupport
import Testing
import TidemarkLog
import TidemarkModel
import TidemarkTesting

@testable import Tidemark

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Every error code of CloudKit, produced by a real cause; where the cause is the network, through a
/// service whose network fails.
@Suite struct ErrorCodeTests {
    typealias Code = SyncError.Code

    /// Codes that a store has no cause for, and why.
    static let withoutCause: [Code: String] = [
        .missingEntitlement: "entitlements are a matter of an app's package, which no store sees",
        .resultsTruncated: "obsolete: answers come in pages",
        .serverRejectedRequest: "every refusal of a store has a code of its own",
        .managedAccountRestricted: "accounts have a status here, and no policies",
    ]

    /// What brings each code about: the first error of a call, or of an item.
    static let causes: [Code: @Sendable () async throws -> SyncError?] = [
        .internalError: Self.internalError,
        .partialFailure: Self.partialFailure,
        .networkUnavailable: { try await network(.networkUnavailable) },
        .networkFailure: { try await network(.networkFailure) },
        .badContainer: Self.badContainer,
        .serviceUnavailable: Self.serviceUnavailable,
        .requestRateLimited: Self.requestRateLimited,
        .notAuthenticated: Self.notAuthenticated,
        .permissionFailure: Self.permissionFailure,
        .unknownItem: Self.unknownItem,
        .invalidArguments: Self.invalidArguments,
        .serverRecordChanged: Self.serverRecordChanged,
        .assetFileNotFound: Self.assetFileNotFound,
        .assetFileModified: Self.assetFileModified,
        .incompatibleVersion: Self.incompatibleVersion,
        .constraintViolation: Self.constraintViolation,
        .operationCancelled: Self.operationCancelled,
        .changeTokenExpired: Self.changeTokenExpired,
        .batchRequestFailed: Self.batchRequestFailed,
        .zoneBusy: Self.zoneBusy,
        .badDatabase: Self.badDatabase,
        .quotaExceeded: Self.quotaExceeded,
        .zoneNotFound: Self.zoneNotFound,
        .limitExceeded: Self.limitExceeded,
        .userDeletedZone: Self.userDeletedZone,
        .tooManyParticipants: Self.tooManyParticipants,
        .alreadyShared: Self.alreadyShared,
        .referenceViolation: Self.referenceViolation,
        .participantMayNeedVerification: Self.participantMayNeedVerification,
        .serverResponseLost: Self.serverResponseLost,
        .assetNotAvailable: Self.assetNotAvailable,
        .accountTemporarilyUnavailable: Self.accountTemporarilyUnavailable,
        .participantAlreadyInvited: Self.participantAlreadyInvited,
    ]

    @Test func `Every code has a cause, or a reason why it has none`() {
        let known = Set(Self.causes.keys).union(Self.withoutCause.keys)
        #expect(known == Set(Code.allCases))
        #expect(Set(Self.causes.keys).isDisjoint(with: Self.withoutCause.keys))
        #expect(Code.allCases.map(\.rawValue) == Array(1...37))
    }

    @Test(arguments: causes.keys.sorted { $0.rawValue < $1.rawValue })
    func `Each cause leads to its code`(code: Code) async throws {
        let cause = try #require(Self.causes[code])
        let error = try #require(try await cause())
        #expect(error.code == code, "\(error)")
        #expect(!error.message.isEmpty)
        // Who is asked to wait is told how long.
        switch code {
        case .requestRateLimited, .zoneBusy, .serviceUnavailable:
            #expect((error.retryAfter ?? .zero) > .zero)
        default: break
        }
    }

    // MARK: Helpers

    /// The error of a call; `nil` if it succeeds.
    private static func error<Answer>(_ call: () async throws -> Answer) async throws -> SyncError?
    {
        do {
            _ = try await call()
            return nil
        } catch let error as SyncError {
            return error
        }
    }

    private static func scratch(
        _ set: (inout StoreOptions) -> Void = { _ in }
    ) throws -> ScratchAssets {
        var options = StoreOptions()
        set(&options)
        return try ScratchAssets(options: options)
    }

    /// A client of a new store's custom zone.
    private static func notes(
        _ set: (inout StoreOptions) -> Void = { _ in }
    ) async throws -> (ScratchAssets, Client) {
        let scratch = try scratch(set)
        let client = scratch.client(zone: ZoneID(zoneName: "Notes"))
        try await client.createZone()
        return (scratch, client)
    }

    private static func item(_ client: Client, _ saves: RecordSave...) async throws -> SyncError? {
        try await client.modify(saves).saves.lazy.compactMap(\.error).first
    }

    // MARK: The service

    /// A request that does not arrive, and can be repeated.
    private static func network(_ code: Code) async throws -> SyncError? {
        let scratch = try scratch()
        let service = FaultyService(scratch.store)
        let error = SyncError(code, "The test's network is down.")
        service.failNext(.save, with: error)
        let anna = scratch.client()
        let request = ModifyRecordsRequest(saves: [try anna.save("a", ["n": 1])])
        let found = try await Self.error {
            try await service.modifyRecords(request, as: anna.caller)
        }
        #expect(try await anna.fetch("a")[0].error?.code == .unknownItem)
        let again = try await service.modifyRecords(request, as: anna.caller)
        #expect(again.saves[0].error == nil)
        return found
    }

    @Sendable private static func serverResponseLost() async throws -> SyncError? {
        // The network: a retry under the same id gets the answer that was lost.
        let scratch = try scratch()
        let service = FaultyService(scratch.store)
        service.loseNextAnswer(to: .save)
        var caller = scratch.client().caller
        caller.requestID = "one"
        let save = try scratch.client().save("a", ["n": 1])
        let request = ModifyRecordsRequest(saves: [save])
        let lost = try await error { try await service.modifyRecords(request, as: caller) }
        #expect(lost?.code == .serverResponseLost)
        #expect(try await service.modifyRecords(request, as: caller).saves[0].error == nil)
        // The disk: whether a commit whose sync failed is there, the next opening finds out.
        let disk = SimulatedFileSystem(keepsTrace: false)
        let other = try ScratchAssets(disk)
        let next = disk.callCount(of: .sync) + 1
        disk.failCall(next, of: .sync, with: EIO, forGood: true)
        let anna = other.client()
        return try await error { try await anna.modify([save]) }
    }

    @Sendable private static func serviceUnavailable() async throws -> SyncError? {
        let closed = try scratch()
        try closed.store.close()
        let error = try await error { try await closed.client().fetch("a") }
        #expect(error?.code == .serviceUnavailable)
        let scratch = try scratch { $0.throttling.writesPerStore = 1 }
        let anna = scratch.client()
        return try await scratch.store.parts.writer().write(in: [], as: anna.caller) {
            try? await Self.error { try await anna.modify([try anna.save("a", ["n": 1])]) }
        }
    }

    @Sendable private static func requestRateLimited() async throws -> SyncError? {
        let scratch = try scratch { $0.throttling.requestsPerDevice = .init(1, per: .seconds(10)) }
        _ = try await scratch.client().fetch("a")
        return try await error { try await scratch.client().fetch("a") }
    }

    @Sendable private static func zoneBusy() async throws -> SyncError? {
        let (scratch, notes) = try await notes { $0.throttling.writesPerZone = 1 }
        return try await scratch.store.parts.writer().write(in: [notes.zone], as: notes.caller) {
            try? await Self.error { try await notes.modify([try notes.save("a", ["n": 1])]) }
        }
    }

    @Sendable private static func operationCancelled() async throws -> SyncError? {
        let (_, notes) = try await notes()
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            return try await error { try await notes.modify([try notes.save("a", ["n": 1])]) }
        }
        task.cancel()
        let found = try await task.value
        #expect(try await notes.fetch("a")[0].error?.code == .unknownItem)
        return found
    }

    @Sendable private static func internalError() async throws -> SyncError? {
        // All names of a zone have one hash, which 256 names can share and no more.
        var environment = StoreEnvironment()
        environment.slotMask = 0
        let folder = try ScratchFolder()
        let store = try Store.open(at: folder.path(), access: .creating, environment: environment)
        let anna = Client(store: store)
        try await anna.createZone()
        let error = try await error {
            try await anna.modify(try (0..<300).map { try anna.save("r\($0)", ["n": 1]) })
        }
        try store.close()
        return error
    }

    @Sendable private static func incompatibleVersion() async throws -> SyncError? {
        let scratch = try scratch()
        try scratch.store.close()
        let manifest = try #require(try scratch.disk.list("s").first { $0.hasPrefix("manifest") })
        var bytes = try scratch.disk.contents(of: "s/\(manifest)")
        // The version and the oldest reader, and the header's checksum over them.
        for offset in [8, 10] { bytes.replaceSubrange(offset..<offset + 2, with: [9, 0]) }
        let checksum = xxh3(Array(bytes[0..<248]).span.bytes, seed: 0)
        for index in 0..<8 {
            bytes[248 + index] = UInt8(truncatingIfNeeded: checksum >> (8 * index))
        }
        try scratch.disk.setContents(of: "s/\(manifest)", to: bytes)
        do {
            _ = try ScratchAssets(scratch.disk)
            return nil
        } catch let error as LogError {
            return SyncError(error)
        }
    }

    // MARK: Who and where

    @Sendable private static func badContainer() async throws -> SyncError? {
        let scratch = try scratch { $0.containers = [ContainerID("iCloud.one")] }
        var client = scratch.client()
        client.caller.database.container = ContainerID("iCloud.one")
        _ = try await client.fetch("a")
        return try await error { try await scratch.client().fetch("a") }
    }

    @Sendable private static func notAuthenticated() async throws -> SyncError? {
        let open = try scratch().client(nil, of: DatabaseID(scope: .public))
        return try await error { try await open.modify([try open.save("a", ["n": 1])]) }
    }

    @Sendable private static func accountTemporarilyUnavailable() async throws -> SyncError? {
        let scratch = try scratch()
        var account = UserAccount(UserID("_anna"))
        account.status = .temporarilyUnavailable
        try await scratch.store.setUser(account)
        return try await error { try await scratch.client().fetch("a") }
    }

    @Sendable private static func permissionFailure() async throws -> SyncError? {
        let scratch = try scratch()
        let database = DatabaseID(scope: .public)
        let anna = scratch.client(of: database)
        try await anna.put("a", ["n": 1])
        let bert = scratch.client("_bert", of: database)
        return try await item(bert, try bert.save("a", ["n": 2], policy: .allKeys))
    }

    @Sendable private static func badDatabase() async throws -> SyncError? {
        let scratch = try scratch()
        let anna = scratch.client(of: DatabaseID(scope: .public), zone: ZoneID(zoneName: "Notes"))
        return try await error { try await anna.createZone() }
    }

    @Sendable private static func constraintViolation() async throws -> SyncError? {
        let scratch = try scratch()
        var anna = UserAccount(UserID("_anna"))
        anna.emails = ["a@example.org"]
        try await scratch.store.setUser(anna)
        var bert = UserAccount(UserID("_bert"))
        bert.emails = anna.emails
        return try await error { [bert] in try await scratch.store.setUser(bert) }
    }

    // MARK: Records

    @Sendable private static func partialFailure() async throws -> SyncError? {
        let anna = try scratch().client()
        try await anna.put("a", ["n": 1])
        let request = ModifyRecordsRequest(
            saves: [try anna.save("a", ["n": 2]), try anna.save("b", ["n": 2])],
            deletions: [RecordDeletion(anna.id("a"), changeTag: RecordChangeTag("x"))]
        )
        let one = ModifyRecordsRequest(saves: Array(request.saves.prefix(2)))
        let result = try await anna.store.modifyRecords(one, as: anna.caller)
        let error = result.partialFailure(of: one)
        #expect(error?.partialErrors.map(\.item) == [.record(anna.id("a"))])
        #expect(error?.partialErrors.map(\.error.code) == [.serverRecordChanged])
        let whole = try await anna.store.modifyRecords(
            ModifyRecordsRequest(deletions: [RecordDeletion(anna.id("b"))]),
            as: anna.caller
        )
        #expect(whole.partialFailure(of: request) == nil)
        let zones = ModifyZonesRequest(
            saves: [ZoneID(zoneName: "Good")],
            deletions: [ZoneID(zoneName: "Gone")]
        )
        let made = try await anna.store.modifyZones(zones, as: anna.caller)
        let lost = made.partialFailure(of: zones)?.partialErrors
        #expect(lost?.map(\.item) == [.zone(ZoneID(zoneName: "Gone"))])
        #expect(lost?.map(\.error.code) == [.zoneNotFound])
        return error
    }

    @Sendable private static func unknownItem() async throws -> SyncError? {
        try await scratch().client().fetch("a")[0].error
    }

    @Sendable private static func invalidArguments() async throws -> SyncError? {
        let anna = try scratch().client()
        return try await item(anna, try anna.save("a", ["not a name": 1]))
    }

    @Sendable private static func serverRecordChanged() async throws -> SyncError? {
        let anna = try scratch().client()
        try await anna.put("a", ["n": 1])
        return try await item(anna, try anna.save("a", ["n": 2]))
    }

    @Sendable private static func batchRequestFailed() async throws -> SyncError? {
        let (_, notes) = try await notes()
        return try await item(
            notes,
            try notes.save("innocent", ["n": 1]),
            try notes.save("bad", ["not a name": 1])
        )
    }

    @Sendable private static func referenceViolation() async throws -> SyncError? {
        let (_, notes) = try await notes()
        let link = FieldValue.reference(Reference(recordName: "none", action: .deleteSelf))
        return try await item(notes, try notes.save("a", ["to": link]))
    }

    @Sendable private static func limitExceeded() async throws -> SyncError? {
        let (_, notes) = try await notes { $0.limits.itemsPerRequest = 1 }
        let saves = [try notes.save("a", ["n": 1]), try notes.save("b", ["n": 1])]
        return try await error { try await notes.modify(saves) }
    }

    @Sendable private static func quotaExceeded() async throws -> SyncError? {
        let scratch = try scratch { $0.limits.bytesPerPrivateDatabase = 10 }
        let anna = scratch.client()
        return try await error { try await anna.modify([try anna.save("a", ["n": 1])]) }
    }

    // MARK: Zones and tokens

    @Sendable private static func zoneNotFound() async throws -> SyncError? {
        let anna = try scratch().client(zone: ZoneID(zoneName: "Notes"))
        return try await item(anna, try anna.save("a", ["n": 1]))
    }

    @Sendable private static func userDeletedZone() async throws -> SyncError? {
        let (_, notes) = try await notes()
        try await notes.deleteZone(.purged)
        return try await item(notes, try notes.save("a", ["n": 1]))
    }

    @Sendable private static func changeTokenExpired() async throws -> SyncError? {
        let (_, notes) = try await notes()
        let token = try await notes.changes().token
        try await notes.deleteZone()
        try await notes.createZone()
        return try await error { try await notes.changes(since: token) }
    }

    // MARK: Assets

    @Sendable private static func assetFileNotFound() async throws -> SyncError? {
        let missing = AssetReference(checksum: Array(repeating: 7, count: 32), byteCount: 1)
        return try await scratch().client().attach(missing, to: "a").error
    }

    @Sendable private static func assetFileModified() async throws -> SyncError? {
        let scratch = try scratch()
        let anna = scratch.client()
        let request = UploadAssetRequest(announced: try await anna.upload([1, 2, 3]))
        return try await error {
            try await scratch.store.uploadAsset([1, 2, 4], request, as: anna.caller)
        }
    }

    @Sendable private static func assetNotAvailable() async throws -> SyncError? {
        let scratch = try scratch()
        let anna = scratch.client()
        let asset = try await anna.upload([1, 2, 3])
        _ = try await anna.attach(asset, to: "a").get()
        try scratch.disk.remove(try scratch.path(of: asset))
        return try await error { try await anna.download("a") }
    }

    // MARK: Sharing

    /// A store with a tree that is shared; the link to the share.
    private static func shared(
        limit: Int = 100,
        _ edit: (inout ShareContent) -> Void
    ) async throws -> (SharingWorld, link: String, SyncError?) {
        var options = StoreOptions()
        options.limits.participantsPerShare = limit
        let world = try await SharingWorld(options: options)
        _ = try await world.anna.modify([try world.anna.node("root")]).saves[0].get()
        var save = try world.anna.share("s", of: "root")
        var content = ShareContent(root: "root")
        edit(&content)
        save.share = content
        let refused = try await item(world.anna, save)
        if refused != nil { return (world, "", refused) }
        return (world, world.store.url(of: try await world.anna.shared("s")), nil)
    }

    @Sendable private static func tooManyParticipants() async throws -> SyncError? {
        try await shared(limit: 2) { content in
            content.participants = ["_b", "_c"].map { ShareParticipant(user: UserID($0)) }
        }.2
    }

    @Sendable private static func alreadyShared() async throws -> SyncError? {
        let (world, _, refused) = try await shared { _ in }
        #expect(refused == nil)
        return try await item(world.anna, try world.anna.share("other", of: "root"))
    }

    @Sendable private static func participantMayNeedVerification() async throws -> SyncError? {
        let (world, link, refused) = try await shared { content in
            content.participants = [ShareParticipant(email: "bob@example.com")]
        }
        #expect(refused == nil)
        let bob = world.guest("bob")
        return try await error { try await world.store.acceptShare(link, as: bob.caller) }
    }

    @Sendable private static func participantAlreadyInvited() async throws -> SyncError? {
        let (world, link, refused) = try await shared { content in
            content.participants = [ShareParticipant(user: UserID("_bob"))]
            content.allowsAccessRequests = true
        }
        #expect(refused == nil)
        let bob = world.guest("bob")
        return try await error { try await world.store.requestShareAccess(link, as: bob.caller) }
    }
}

/// Texts that people act on.
@Suite struct ErrorTextTests {
    @Test func `The error of a closed store has the remedy to reopen it`() async throws {
        let folder = try ScratchFolder()
        let client = Client(store: try Store.open(at: folder.path(), access: .creating))
        try client.store.close()
        let error = await #expect(throws: SyncError.self) { try await client.fetch("a") }
        #expect(
            error?.description
                == "serviceUnavailable (6): The store has been closed. Open the store again, and use "
                + "what that returns."
        )
    }

    @Test func `A partial failure names its causes`() {
        func failures(_ count: Int) -> [SyncError.ItemError] {
            (1...count).map { number in
                let id = RecordID(recordName: "r\(number)")
                return SyncError.ItemError(.record(id), .recordNotFound(id))
            }
        }
        let one = SyncError.partialFailure(failures(1))?.message
        #expect(
            one == "1 item of the request failed. record r1: unknownItem: There is no record r1."
        )
        let four = SyncError.partialFailure(failures(4))?.message ?? ""
        #expect(four.hasPrefix("4 items of the request failed. record r1: unknownItem: "))
        #expect(four.hasSuffix(" record r3: unknownItem: There is no record r3. And 1 more."))
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import Tidemark
import TidemarkLog
import TidemarkModel
import TidemarkReplay

/// A store with a full journal, Anna's zone in it, and short ways to live with both.
final class JournalledStore {
    private let folder: ScratchFolder
    private(set) var store: Store
    static let anna = DatabaseID(owner: UserID("_anna"))
    let zone = ZoneID(zoneName: "Notes")

    init(
        _ extent: StoreOptions.Journal = .full,
        _ change: (inout StoreOptions) -> Void = { _ in }
    ) async throws {
        folder = try ScratchFolder()
        var options = StoreOptions()
        options.journal = extent
        change(&options)
        store = try Store.open(at: folder.path(), access: .creating, options: options)
        _ = try await store.modifyZones(ModifyZonesRequest(saves: [zone]), as: caller())
    }

    var path: String { folder.path() }

    /// Ends the process that has the store open, and begins another.
    func reopen(_ extent: StoreOptions.Journal, _ access: StoreAccess = .writing) throws {
        try store.close()
        var options = StoreOptions()
        options.journal = extent
        store = try Store.open(at: folder.path(), access: access, options: options)
    }

    /// Anna on a device, or another user in the shared database.
    func caller(_ user: String = "anna", on device: String = "phone") -> Caller {
        let id = UserID("_" + user)
        let scope: DatabaseScope = user == "anna" ? .private : .shared
        return Caller(database: DatabaseID(scope: scope, owner: id), user: id, device: device)
    }

    /// The zone as a user names it.
    func zone(for user: String) -> ZoneID {
        user == "anna" ? zone : ZoneID(zoneName: "Notes", ownerName: "_anna")
    }

    func id(_ name: String) -> RecordID { RecordID(recordName: name, zone: zone) }

    func save(
        _ name: String,
        _ fields: KeyValuePairs<String, FieldValue?> = ["n": 1],
        under parent: String? = nil,
        policy: SavePolicy = .changedKeys
    ) throws -> RecordSave {
        RecordSave(
            id(name),
            type: "Note",
            fields: try Fields(fields),
            parent: parent.map { .set(Name($0)) } ?? .unchanged,
            policy: policy
        )
    }

    func share(
        _ name: String = "share",
        of root: String,
        with users: [(String, SharePermission)]
    ) throws -> RecordSave {
        RecordSave(
            id(name),
            type: Share.recordType,
            fields: try Fields(["cloudkit.title": .string("A share")]),
            policy: .changedKeys,
            share: ShareContent(
                root: root,
                publicPermission: .none,
                participants: users.map {
                    ShareParticipant(user: UserID("_" + $0.0), permission: $0.1)
                }
            )
        )
    }

    @discardableResult
    func modify(
        _ saves: [RecordSave],
        delete names: [String] = [],
        request: String? = nil
    ) async throws -> ModifyRecordsResult {
        var caller = caller()
        caller.requestID = request
        let deletions = names.map { RecordDeletion(id($0)) }
        let request = ModifyRecordsRequest(saves: saves, deletions: deletions)
        return try await store.modifyRecords(request, as: caller)
    }

    func accept(_ share: String = "share", as user: String) async throws {
        let record = try await store.fetchRecords(FetchRecordsRequest([id(share)]), as: caller())
        let token = try #require(try record[0].get().share).token
        _ = try await store.acceptShare(token, as: caller(user))
    }

    /// All that changed since a token; a device that does this stores what it is told.
    @discardableResult
    func fetch(
        _ user: String = "anna",
        on device: String = "phone",
        since token: ChangeToken? = nil,
        limit: Int? = nil,
        pageCount: Int = .max
    ) async throws -> ChangeToken? {
        var token = token
        for _ in 0..<pageCount {
            let request = ZoneChangesRequest(zone: zone(for: user), since: token, limit: limit)
            let page = try await store.zoneChanges(request, as: caller(user, on: device))
            token = page.token
            if !page.moreComing { break }
        }
        return token
    }

    func why(
        _ name: String,
        from device: String = "phone",
        asOf position: SequenceNumber? = nil,
        of user: String? = nil
    ) async throws -> Explanation {
        try await store.explainAbsence(
            of: id(name),
            in: Self.anna,
            asOf: position,
            from: device,
            of: user.map { UserID("_" + $0) }
        )
    }
}

extension Explanation.Cause {
    /// The case's name alone.
    var name: String {
        switch self {
        case .neverSaved: "neverSaved"
        case .noSuchZone: "noSuchZone"
        case .refused: "refused"
        case .hidden: "hidden"
        case .fetchRefused: "fetchRefused"
        case .committedAfterToken: "committedAfterToken"
        case .neverAsked: "neverAsked"
        case .superseded: "superseded"
        case .beganAfterDeletion: "beganAfterDeletion"
        case .delivered(_, nil): "delivered"
        case .delivered: "acknowledged"
        case .unknown: "unknown"
        }
    }
}

extension Explanation {
    /// The names of the causes, in their order.
    var names: [String] { causes.map(\.name) }

    /// Why the record is hidden, if it is.
    var hiding: RecordHiding? {
        for case .hidden(let hiding) in causes { return hiding }
        return nil
    }
}

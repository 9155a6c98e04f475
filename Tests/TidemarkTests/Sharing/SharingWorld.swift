// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Tidemark
import TidemarkModel

/// A store with an owner, who has a zone, and others who may take part in its shares.
struct SharingWorld {
    let folder: ScratchFolder
    let store: Store
    let anna: Client

    init(
        options: StoreOptions = StoreOptions(),
        environment: StoreEnvironment = StoreEnvironment()
    ) async throws {
        folder = try ScratchFolder()
        store = try Store.open(
            at: folder.path(),
            access: .creating,
            options: options,
            environment: environment
        )
        anna = Self.owner(in: store)
        try await anna.createZone()
    }

    static func owner(in store: Store) -> Client {
        let user = UserID("_anna")
        return Client(
            store: store,
            caller: Caller(database: DatabaseID(owner: user), user: user, device: "phone")
        )
    }

    /// Another user, in their shared database.
    func guest(_ name: String) -> Client { Self.guest(name, in: store) }

    static func guest(_ name: String, in store: Store) -> Client {
        let user = UserID("_" + name)
        return Client(
            store: store,
            caller: Caller(database: DatabaseID(scope: .shared, owner: user), user: user),
            zone: ZoneID(zoneName: "Notes", ownerName: "_anna")
        )
    }
}

extension Client {
    /// A save of a record in a tree.
    func node(
        _ name: String,
        under parent: String? = nil,
        _ fields: KeyValuePairs<String, FieldValue?> = ["n": 1],
        tag: RecordChangeTag? = nil,
        policy: SavePolicy = .changedKeys
    ) throws -> RecordSave {
        RecordSave(
            id(name),
            type: "Node",
            fields: try Fields(fields),
            parent: parent.map { .set(Name($0)) } ?? .unchanged,
            changeTag: tag,
            policy: policy
        )
    }

    /// A save of a share's record.
    func share(
        _ name: String,
        of root: String?,
        with users: [(String, SharePermission)] = [],
        open: SharePermission = .none
    ) throws -> RecordSave {
        RecordSave(
            id(name),
            type: Share.recordType,
            fields: try Fields(["cloudkit.title": .string("A share")]),
            policy: .changedKeys,
            share: ShareContent(
                root: root,
                publicPermission: open,
                participants: users.map {
                    ShareParticipant(user: UserID("_" + $0.0), permission: $0.1)
                }
            )
        )
    }

    /// The share that a record of the owner's zone holds.
    func shared(_ name: String) async throws -> Share {
        try requireShare(try await fetch(name)[0].get())
    }

    /// Accepts a share that another client's zone holds.
    func accept(_ name: String, of owner: Client) async throws {
        let link = store.url(of: try await owner.shared(name))
        _ = try await store.acceptShare(link, as: caller)
    }

    /// What the client sees of the zone, by name, starting anew.
    func visible() async throws -> Set<String> {
        var names: Set<String> = []
        for case .changed(let record) in try await changes().changes {
            names.insert(record.recordID.recordName)
        }
        return names
    }

    /// Names of what a delta changes and deletes.
    func delta(
        since token: ChangeToken
    ) async throws -> (changed: Set<String>, deleted: Set<String>, token: ChangeToken) {
        let delta = try await changes(since: token)
        var changed: Set<String> = []
        var deleted: Set<String> = []
        for change in delta.changes {
            switch change {
            case .changed(let record): changed.insert(record.recordID.recordName)
            case .deleted(let record): deleted.insert(record.recordID.recordName)
            }
        }
        return (changed, deleted, delta.token)
    }
}

/// The share that a record holds; throws if it holds none.
private func requireShare(_ record: Record) throws -> Share {
    guard let share = record.share else {
        throw SyncError(.unknownItem, "The record \(record.recordID) holds no share.")
    }
    return share
}

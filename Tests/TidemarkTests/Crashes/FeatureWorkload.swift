// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Tidemark
import TidemarkLog
import TidemarkModel

/// What happens in a store, step by step; each step is one commit to whoever looks afterwards.
enum FeatureWorkload: CaseIterable {
    /// Trees and zones that are shared, and those who hear of them.
    case sharing
    /// Schemas, users, roles, assets and the public database.
    case accounts

    typealias Step = @Sendable (FeatureWorld) async throws -> Void

    var steps: [Step] {
        switch self {
        case .sharing: Self.firstSteps + Self.sharingSteps + Self.endingSteps
        case .accounts: Self.firstSteps + Self.accountSteps
        }
    }

    private static func save(_ saves: RecordSave..., as client: Client) async throws {
        for save in try await client.modify(saves).saves { _ = try save.get() }
    }

    private static func delete(_ names: String..., as client: Client) async throws {
        let deletions = names.map { RecordDeletion(client.id($0)) }
        for deletion in try await client.modify([], delete: deletions).deletions {
            _ = try deletion.get()
        }
    }

    private static func accept(_ share: String, _ world: FeatureWorld, _ name: String) async throws
    {
        try await world.guest(name).accept(share, of: world.anna)
    }

    /// Says anew with whom a share is shared, keeping those who accepted.
    private static func share(
        _ name: String,
        _ world: FeatureWorld,
        _ edit: (inout ShareContent) -> Void
    ) async throws {
        var save = try world.anna.share(name, of: nil)
        var content = ShareContent(try await world.anna.shared(name))
        edit(&content)
        save.share = content
        try await Self.save(save, as: world.anna)
    }

    private static let firstSteps: [Step] = [
        { try await $0.anna.createZone() },
        { try await save($0.anna.node("root"), $0.anna.node("other"), as: $0.anna) },
    ]

    // MARK: Sharing

    private static let sharingSteps: [Step] = [
        {
            try await $0.anna.client(on: "laptop")
                .subscribe("nodes", to: "Node", where: .compare("n", .greaterThan, 1))
        },
        {
            try await $0.anna.client(on: "laptop").subscribe(Subscription("z", .zone($0.anna.zone)))
        },
        { try await $0.guest("bob").subscribe(Subscription("bobs", .database())) },
        {
            try await save(
                $0.anna.node("leaf", under: "root"),
                $0.anna.node("twig", under: "leaf"),
                as: $0.anna
            )
        },
        {
            let users = [("bob", SharePermission.readWrite), ("carol", .readOnly)]
            try await save($0.anna.share("s", of: "root", with: users), as: $0.anna)
        },
        { try await accept("s", $0, "bob") },
        { try await accept("s", $0, "carol") },
        { world in
            let bob = world.guest("bob")
            try await save(bob.node("new", under: "leaf", ["n": 2]), as: bob)
        },
        // Under the share, and out of it, and back.
        { try await save($0.anna.node("other", under: "leaf", ["n": 3]), as: $0.anna) },
        { world in
            var leaf = try world.anna.node("leaf", ["n": 4])
            leaf.parent = .removed
            try await save(leaf, as: world.anna)
        },
        { try await save($0.anna.node("leaf", under: "root", ["n": 5]), as: $0.anna) },
        { world in
            try await share("s", world) { content in
                for index in content.participants.indices {
                    content.participants[index].permission = .readOnly
                }
            }
        },
        { world in
            let carol = world.guest("carol")
            try await delete("s", as: carol)
        },
        { world in
            let laptop = world.anna.client(on: "laptop")
            guard let first = try await laptop.heard().notifications.first?.id else { return }
            for answer in try await world.store.markNotificationsRead([first], as: laptop.caller) {
                _ = try answer.get()
            }
        },
    ]

    private static let endingSteps: [Step] = [
        // A root that is saved with its share, for whoever has the link.
        { world in
            let anna = world.anna
            try await save(
                anna.node("second", ["n": 6]),
                anna.share("t", of: "second", open: .readWrite),
                as: anna
            )
        },
        { try await accept("t", $0, "dan") },
        { world in
            let dan = world.guest("dan")
            try await save(dan.node("dans", under: "second", ["n": 7]), as: dan)
        },
        { try await share("t", $0) { $0.publicPermission = .none } },
        { try await share("s", $0) { $0.participants = [] } },
        { try await share("s", $0) { $0.participants = [ShareParticipant(user: UserID("_bob"))] } },
        { try await accept("s", $0, "bob") },
        // The share ends, by itself and with its root; then with the zone.
        { try await delete("s", as: $0.anna) },
        {
            let users = [("bob", SharePermission.readWrite)]
            try await save($0.anna.share("s2", of: "root", with: users), as: $0.anna)
        },
        { try await accept("s2", $0, "bob") },
        { try await delete("root", "leaf", "twig", "new", "other", as: $0.anna) },
        { try await delete("t", as: $0.anna) },
        {
            let users = [("carol", SharePermission.readWrite)]
            try await save($0.anna.share(Share.zoneWideName, of: nil, with: users), as: $0.anna)
        },
        { try await accept(Share.zoneWideName, $0, "carol") },
        { world in
            let carol = world.guest("carol")
            try await save(carol.node("carols", ["n": 8]), as: carol)
        },
        { try await $0.anna.client(on: "laptop").unsubscribe("nodes") },
        { world in
            let request = ModifyZonesRequest(deletions: [world.anna.zone], deletionReason: .purged)
            for deletion in try await world.store.modifyZones(request, as: world.anna.caller)
                .deletions
            {
                _ = try deletion.get()
            }
        },
        { try await $0.anna.createZone() },
        { try await save($0.anna.node("again", ["n": 9]), as: $0.anna) },
    ]

    // MARK: Accounts

    private static func account(
        _ email: String,
        _ status: AccountStatus = .available
    ) -> UserAccount {
        var account = UserAccount(UserID("_bob"))
        account.emails = [email]
        account.isDiscoverable = true
        account.status = status
        return account
    }

    private static func schema(_ grants: String) throws -> Schema {
        try SchemaFile(
            """
            DEFINE SCHEMA CREATE ROLE Editor;
            RECORD TYPE Node (n INT64 QUERYABLE SORTABLE, \(grants));
            """
        ).schema
    }

    private static func grant(_ grants: String, _ world: FeatureWorld) async throws {
        try await world.store.importSchema(try schema(grants))
    }

    private static let accountSteps: [Step] = [
        { try await $0.store.setUser(account("bob@example.com")) },
        { try await $0.store.setUser(account("bob@example.org", .temporarilyUnavailable)) },
        { try await grant("GRANT READ, WRITE TO Editor, GRANT CREATE, READ TO \"_icloud\"", $0) },
        { try await $0.store.setRoles([Schema.Role("Editor")], of: UserID("_bob")) },
        { try await $0.store.promoteSchema() },
        { world in
            let anna = world.open(to: "anna")
            try await save(anna.node("p", ["n": 1]), as: anna)
        },
        { world in
            let bob = world.open(to: "bob")
            try await save(bob.node("p", ["n": 2]), as: bob)
        },
        { world in
            let anna = world.open(to: "anna")
            try await save(
                anna.save("_anna", ["n": 3], policy: .changedKeys, type: "Users"),
                as: anna
            )
        },
        { try await $0.store.setRoles([], of: UserID("_bob")) },
        // A type and a field that come with the records that need them.
        { try await save($0.anna.save("grown", ["n": 4, "m": 5], type: "Grown"), as: $0.anna) },
        {
            try await $0.store.changeIndexes(of: "m", in: "Grown", removing: [.queryable])
        },
        // The query adds the index again.
        { world in
            let query = Query(recordType: "Grown", predicate: .compare("m", .equal, 5))
            _ = try await world.anna.find(query, in: world.anna.zone)
        },
        { world in
            let asset = try await world.anna.upload(Array(repeating: 7, count: 900))
            _ = try await world.anna.attach(asset, to: "photo").get()
        },
        { world in
            let anna = world.open(to: "anna")
            let asset = try await anna.upload([1, 2, 3])
            _ = try await anna.attach(asset, to: "open photo").get()
        },
        { try await delete("photo", as: $0.anna) },
        { try await $0.store.setUser(account("bob@example.com")) },
    ]
}

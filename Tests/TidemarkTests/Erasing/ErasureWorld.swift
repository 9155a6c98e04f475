// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Tidemark
import TidemarkModel

@testable import TidemarkLog

/// A store in which a user, Zelda, and a zone of hers have left their words wherever a client can
/// bring words to, and others have what is theirs.
///
/// Everything that Zelda says of herself has *zelda* in it, everything in or about the zone *quagga*.
/// What she writes to others has neither.
struct ErasureWorld {
    static let user = UserID("_zelda")
    static let zone = ZoneID(zoneName: "quagga")
    static let own = DatabaseID(owner: user)

    let store: Store

    static var options: StoreOptions {
        var options = StoreOptions()
        options.journal = .full
        options.segmentByteCount = 16 << 10
        options.durability = .none
        options.checkpointEventCount = 32
        return options
    }

    /// Zelda, in the zone that is to be erased.
    var zelda: Client { zelda(in: Self.zone) }

    func zelda(in zone: ZoneID) -> Client {
        Client(
            store: store,
            caller: Caller(
                database: Self.own,
                user: Self.user,
                device: "zelda's phone",
                build: "zelda-build"
            ),
            zone: zone
        )
    }

    /// Bob, in his own zone.
    var bob: Client {
        let user = UserID("_bob")
        return Client(
            store: store,
            caller: Caller(database: DatabaseID(owner: user), user: user, device: "b", build: "1"),
            zone: ZoneID(zoneName: "Bob")
        )
    }

    /// A user in the shared database, looking at a zone.
    func guest(_ name: String, in zone: ZoneID) -> Client {
        let user = UserID("_" + name)
        return Client(
            store: store,
            caller: Caller(
                database: DatabaseID(scope: .shared, owner: user),
                user: user,
                device: name + "'s laptop",
                build: "1"
            ),
            zone: zone
        )
    }

    /// Bob, looking at what Zelda shares with him.
    var bobAsGuest: Client {
        guest("bob", in: ZoneID(zoneName: "quagga", ownerName: "_zelda"))
    }

    /// Zelda, looking at what Bob shares with her.
    var zeldaAsGuest: Client { guest("zelda", in: ZoneID(zoneName: "Bob", ownerName: "_bob")) }

    func open(to user: String) -> Client {
        let user = UserID("_" + user)
        return Client(
            store: store,
            caller: Caller(
                database: DatabaseID(scope: .public),
                user: user,
                device: user.userRecordName + "'s tablet"
            ),
            zone: .default
        )
    }

    // MARK: Living

    /// Lets everybody do something of everything.
    func live() async throws {
        try await createAccounts()
        try await giveRoles()
        for client in [zelda, zelda(in: ZoneID(zoneName: "zelda's other")), bob] {
            try await client.createZone()
        }
        try await save("zelda-quagga", "zelda-quagga", 40, as: zelda)
        try await save("zelda-", "zelda-", 10, as: zelda(in: ZoneID(zoneName: "zelda's other")))
        try await save("zelda-", "zelda-", 3, as: zelda(in: .default))
        try await save("b", "plain", 40, as: bob)
        try await shareZeldas()
        try await shareBobs()
        try await publish()
        try await attach()
        try await save("zelda-quagga", "zelda-quagga again", 40, as: zelda)
        try await save("b", "plain again", 20, as: bob)
        try await refuse()
        try await store.waitUntilNotified()
        for client in [zelda, bob, bobAsGuest] { _ = try await client.find("word != 'x'") }
    }

    private func save(
        _ prefix: String,
        _ word: String,
        _ count: Int,
        as client: Client
    ) async throws {
        for number in 0..<count {
            let text = "\(word) \(number) " + String(repeating: "\(number) ", count: 20)
            let mark = client.caller.user == Self.user ? "zelda-request" : "request"
            _ = try await client.modify(
                [
                    try client.save(
                        "\(prefix)\(number)",
                        ["word": .string(text)],
                        policy: .changedKeys
                    )
                ],
                request: "\(mark) \(client.zone.zoneName) \(word) \(number)"
            ).saves[0].get()
        }
    }

    private func giveRoles() async throws {
        try await store.importSchema(try SchemaFile("DEFINE SCHEMA CREATE ROLE Editor;").schema)
        for user in [Self.user, UserID("_bob")] {
            try await store.setRoles([Schema.Role("Editor")], of: user)
        }
    }

    private func createAccounts() async throws {
        var account = UserAccount(Self.user)
        account.emails = ["Zelda@Example.org"]
        account.phones = ["+49 30 98765432"]
        account.name.givenName = "Zelda"
        account.isDiscoverable = true
        account.contacts = [.email("bob@example.org")]
        try await store.setUser(account)
        // An address that was hers once.
        account.emails = ["zelda@example.org", "zelda.old@example.org"]
        try await store.setUser(account)
        account.emails = ["zelda@example.org"]
        try await store.setUser(account)
        var bob = UserAccount(UserID("_bob"))
        bob.emails = ["bob@example.org"]
        bob.contacts = [.email("zelda@example.org"), .email("carol@example.org"), .user(Self.user)]
        try await store.setUser(bob)
    }

    private func shareZeldas() async throws {
        let zelda = zelda
        var save = try zelda.share(
            "zelda-quagga-share",
            of: "zelda-quagga1",
            with: [("bob", .readWrite)]
        )
        save.fields = try Fields(["cloudkit.title": .string("A quagga of Zelda's")])
        for saved in try await zelda.modify([save]).saves { _ = try saved.get() }
        try await bobAsGuest.accept("zelda-quagga-share", of: zelda)
        var content = NotificationContent()
        content.alert.text = "Something new!"
        try await bobAsGuest.subscribe(Subscription("bob-watch", .database(), content: content))
        var child = try bobAsGuest.save("quagga-by-bob", ["word": "quagga"])
        child.parent = .set(Name("zelda-quagga1"))
        _ = try await bobAsGuest.modify([child]).saves[0].get()
        try await zelda.subscribe(
            Subscription("zelda-watch", .zone(zelda.zone)),
            Subscription("zelda-database", .database())
        )
        try await zelda.client("_zelda", on: "zelda's pad").subscribe("zelda-query")
    }

    private func shareBobs() async throws {
        var save = try bob.share("bobs", of: "b1", with: [("carol", .readOnly)])
        save.share?.participants.append(
            ShareParticipant(email: "ZELDA@example.org", permission: .readWrite)
        )
        for saved in try await bob.modify([save]).saves { _ = try saved.get() }
        let link = store.url(of: try await bob.shared("bobs"))
        for name in ["zelda", "carol"] {
            let guest = guest(name, in: ZoneID(zoneName: "Bob", ownerName: "_bob"))
            _ = try await store.acceptShare(link, as: guest.caller)
        }
        var child = try zeldaAsGuest.save("child", ["word": "hers"])
        child.parent = .set(Name("b1"))
        _ = try await zeldaAsGuest.modify([child], request: "zelda-child").saves[0].get()
        // Bob's next version still says who made it first.
        try await bob.put("child", ["n": 1], policy: .changedKeys)
        try await zeldaAsGuest.subscribe(Subscription("zelda-guest", .database()))
    }

    private func publish() async throws {
        let zelda = open(to: "zelda")
        try await zelda.put("post", ["word": "hello"])
        let own = RecordSave(
            RecordID(recordName: "_zelda", zone: .default),
            type: "Users",
            fields: try Fields(["nick": "zelda the great"])
        )
        _ = try await zelda.modify([own]).saves[0].get()
        let bob = open(to: "bob")
        try await bob.put("reply", ["word": "hello too"])
    }

    private func attach() async throws {
        func bytes(_ word: String) -> [UInt8] {
            Array(String(repeating: word + " bytes ", count: 300).utf8)
        }
        let own = try await zelda.upload(bytes("zelda-quagga"))
        _ = try await zelda.attach(own, to: "zelda-quagga-asset").get()
        // The same bytes in another zone of the same database.
        let both = try await zelda.upload(bytes("zelda-both"))
        _ = try await zelda.attach(both, to: "zelda-quagga-both").get()
        let other = zelda(in: ZoneID(zoneName: "zelda's other"))
        _ = try await other.attach(both, to: "zelda-both").get()
        _ = try await bob.attach(try await bob.upload(bytes("bob")), to: "with file").get()
        _ = try await zelda.upload(bytes("zelda-unnamed"))
    }

    private func refuse() async throws {
        // Refused, and noted in the journal, or in the answer to a request that did something too.
        let stale = try zelda.save("zelda-quagga2", ["word": "zelda"])
        #expect(try await zelda.modify([stale]).saves[0].error != nil)
        let lone = try bobAsGuest.save("quagga-alone", ["word": "quagga"])
        #expect(try await bobAsGuest.modify([lone]).saves[0].error != nil)
        let zelda = zelda(in: .default)
        _ = try await zelda.modify(
            [
                try zelda.save("zelda-1", ["word": "zelda"]),
                try zelda.save("zelda-new", ["word": "zelda"]),
                RecordSave(
                    RecordID(recordName: "zelda-quagga3", zone: Self.zone),
                    type: "Note",
                    fields: try Fields(["word": "zelda-quagga"])
                ),
            ],
            isAtomic: false,
            request: "zelda-mixed"
        )
        let stranger = guest("carol", in: ZoneID(zoneName: "quagga", ownerName: "_zelda"))
        await #expect(throws: SyncError.self) { try await stranger.changes() }
    }

    // MARK: What others have

    /// What a client sees of a zone: each record with its tag and its fields' bytes.
    func records(of client: Client, since token: ChangeToken? = nil) async throws -> [String] {
        var lines: [String] = []
        for change in try await client.changes(since: token).changes {
            switch change {
            case .changed(let record) where record.share == nil:
                let fields = record.body.fields.bytes.map { String($0, radix: 16) }.joined()
                lines.append("\(record.recordID) \(record.changeTag?.text ?? "") \(fields)")
            case .changed(let record):
                lines.append("\(record.recordID) \(record.changeTag?.text ?? "")")
            case .deleted(let record):
                lines.append("\(record.recordID) deleted")
            }
        }
        return lines
    }
}

/// Looks for a word in every byte of a store, whatever the letters' case: in files as they are, and in
/// the blocks and dictionaries of the log.
struct StoreSearch {
    let path: String
    let fileSystem: any FileSystem

    /// The kinds of places that a word is in.
    func places(of word: String) throws -> Set<String> {
        var places: Set<String> = []
        for folder in try folders() {
            for name in try fileSystem.list(folder) {
                let file = folder + "/" + name
                guard let bytes = try? fileSystem.contents(of: file) else { continue }
                let kind = folder == path ? name : String(folder.dropFirst(path.count + 1))
                if holds(bytes, word) { places.insert(String(kind.prefix { $0 != "/" })) }
            }
        }
        let reader = try LogReader(path, fileSystem: fileSystem)
        try reader.scan(from: SequenceNumber(rawValue: 1), through: reader.durableSequence) {
            event in
            if holds(event.block, word) { places.insert("blocks") }
            return true
        }
        #expect(reader.damage.isEmpty)
        for segment in reader.manifest.segments {
            let (file, header) = try SegmentReader.open(
                segment.id,
                store: reader.store,
                in: StoreFolder(path),
                fileSystem: fileSystem
            )
            let dictionary = try SegmentReader.dictionary(of: file, header: header)
            if holds(dictionary, word) { places.insert("dictionaries") }
        }
        return places
    }

    private func folders() throws -> [String] {
        var folders = [path]
        for name in ["segments", "views", "views/renewed", "queries", "journal", "assets"] {
            let folder = path + "/" + name
            if try fileSystem.exists(folder) { folders.append(folder) }
        }
        if folders.contains(path + "/assets") {
            for name in try fileSystem.list(path + "/assets") {
                folders.append(path + "/assets/" + name)
            }
        }
        return folders
    }

    /// Only places with the word's first letter are compared: in a debug build, a loop over every byte takes
    /// most of the time of these tests.
    private func holds(_ bytes: [UInt8], _ word: String) -> Bool {
        bytes.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress else { return false }
            let end = base + bytes.count
            return [word.lowercased(), word.uppercased()].contains { word in
                let initial = Int32(word.utf8.first ?? 0)
                var place = base
                while let start = memchr(place, initial, place.distance(to: end)) {
                    place = UnsafeRawPointer(start)
                    guard place.distance(to: end) >= word.utf8.count else { return false }
                    if strncasecmp(
                        place.assumingMemoryBound(to: CChar.self),
                        word,
                        word.utf8.count
                    ) == 0 {
                        return true
                    }
                    place += 1
                }
                return false
            }
        }
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import Tidemark
import TidemarkLog
import TidemarkModel

/// Generated histories of several users and devices, on a store whose notifier runs as it likes and
/// which is closed and opened now and then: everybody hears what the model says, from the beginning
/// and from every token.
@Suite struct NotificationModelTests {
    @Test(arguments: 1...(runsLongTests ? 60 : 3) as ClosedRange<UInt64>)
    func `Notifications of all users equal the model's`(seed: UInt64) async throws {
        try await play(NotificationHistory(seed: seed))
    }

    @Test(arguments: 101...(runsLongTests ? 140 : 103) as ClosedRange<UInt64>)
    func `In a compacted store, notifications equal the model's or a token expires`(
        seed: UInt64
    ) async throws {
        try await play(NotificationHistory(seed: seed, compacts: true))
    }

    private func play(_ begun: NotificationHistory) async throws {
        var history = begun
        try await history.begin()
        for step in 0..<150 {
            try await history.step()
            if history.compacts, step % 15 == 14 { try await history.compact() }
            if step % 25 == 24 { try await history.compare() }
        }
        try await history.finish()
    }
}

/// A history as it goes on, in a store and in the model.
private struct NotificationHistory {
    typealias Model = NotificationModel

    private let folder: ScratchFolder
    private var store: Store
    private var random: SeededGenerator
    private var model = Model()
    /// The tokens that clients hold, with the number of the model's event they are at.
    private var tokens: [(user: String, device: String?, token: ChangeToken, number: Int)] = []
    private let seed: UInt64
    /// Whether the log is compacted now and then, and forgets deletions too in every second history.
    let compacts: Bool
    private var expiries: [CompactionReport.TokenExpiry] = []

    private static let users = ["_anna", "_bob"]
    private static let devices: [String?] = ["phone", "laptop", nil]
    private static let zones = ["a", "b", ZoneID.defaultZoneName]
    private var living: [Model.Place: Set<String>] = [:]

    private var options: StoreOptions {
        var options = StoreOptions()
        options.checkpointEventCount = 40
        options.durability = .none
        // Small ones, so that there are many to compact.
        if compacts { options.segmentByteCount = 16 << 10 }
        return options
    }

    init(seed: UInt64, compacts: Bool = false) throws {
        self.seed = seed
        self.compacts = compacts
        random = SeededGenerator(seed: seed)
        folder = try ScratchFolder()
        var options = StoreOptions()
        options.durability = .none
        if compacts { options.segmentByteCount = 16 << 10 }
        store = try Store.open(at: folder.path(), access: .creating, options: options)
    }

    private static let places = [
        Model.Place(isPublic: false, owner: "__defaultOwner__"),
        Model.Place(isPublic: false, owner: "_anna"), Model.Place(isPublic: true, owner: "-"),
    ]

    private mutating func pick<Element>(_ pool: [Element]) -> Element {
        pool[Int.random(in: 0..<pool.count, using: &random)]
    }

    private mutating func chance(_ count: Int) -> Bool {
        Int.random(in: 0..<count, using: &random) == 0
    }

    private func client(_ author: Model.Author, _ place: Model.Place, _ zone: String) -> Client {
        let database =
            place.isPublic
            ? DatabaseID(scope: .public) : DatabaseID(owner: UserID(place.owner))
        return Client(
            store: store,
            caller: Caller(database: database, user: UserID(author.user), device: author.device),
            zone: ZoneID(zoneName: zone)
        )
    }

    /// Somebody who may use a database.
    private mutating func author(in place: Model.Place) -> Model.Author {
        let user = place.owner == "_anna" ? "_anna" : pick(Self.users)
        return Model.Author(user: user, device: pick(Self.devices))
    }

    mutating func begin() async throws {
        // Types and fields are there, so that the schema has its say about subscriptions too.
        for place in Self.places {
            let author = Model.Author(user: "_anna", device: "phone")
            let client = client(author, place, ZoneID.defaultZoneName)
            for type in ["Note", "Task"] {
                let fields = try Fields(["n": 0, "tags": .stringList(["x"])])
                let save = RecordSave(client.id("first-\(type)"), type: type, fields: fields)
                let saved = try await client.modify([save]).saves[0].get()
                model.save(saved, place, by: author)
            }
        }
    }

    // MARK: Steps

    mutating func step() async throws {
        let place = pick(Self.places)
        switch Int.random(in: 0..<20, using: &random) {
        case 0...2: try await saveSubscription(place)
        case 3: try await deleteSubscription(place)
        case 4: try await toggleZone(place)
        case 5: try await read()
        case 6: try await holdToken()
        case 7 where chance(3): try reopen()
        case 8...10: try await delete(place)
        default: try await save(place)
        }
    }

    private func zones(of place: Model.Place) -> [String] {
        [ZoneID.defaultZoneName] + (living[place] ?? []).sorted()
    }

    private mutating func save(_ place: Model.Place) async throws {
        let author = author(in: place)
        let client = client(author, place, pick(zones(of: place)))
        var saves: [RecordSave] = []
        for number in 0..<Int.random(in: 1...4, using: &random) {
            let type = pick(["Note", "Task"])
            let fields = try Fields([
                "n": .int64(Int64.random(in: 0..<4, using: &random)),
                "tags": .stringList(chance(2) ? ["x", "y"] : ["z"]),
            ])
            // The name says the type, so that no record changes it.
            let name = "\(type)-\(number)-\(Int.random(in: 0..<3, using: &random))"
            saves.append(
                RecordSave(client.id(name), type: type, fields: fields, policy: .changedKeys)
            )
        }
        for saved in try await client.modify(saves).saves {
            switch saved {
            case .success(let record): model.save(record, place, by: author)
            case .failure(let error):
                // In the public database roles let the creator alone change a record.
                guard place.isPublic, error.code == .permissionFailure else { throw error }
            }
        }
    }

    private mutating func delete(_ place: Model.Place) async throws {
        let author = author(in: place)
        let zone = pick(zones(of: place))
        let client = client(author, place, zone)
        let type = pick(["Note", "Task"])
        let name =
            "\(type)-\(Int.random(in: 0..<4, using: &random))-"
            + "\(Int.random(in: 0..<3, using: &random))"
        let result = try await client.modify([], delete: [RecordDeletion(client.id(name))])
        if let error = result.deletions[0].error {
            guard place.isPublic, error.code == .permissionFailure else { throw error }
            return
        }
        model.delete(name, in: zone, place, by: author)
    }

    private mutating func toggleZone(_ place: Model.Place) async throws {
        if place.isPublic { return }
        let author = author(in: place)
        let zone = pick(["a", "b"])
        let client = client(author, place, zone)
        if living[place]?.contains(zone) ?? false {
            if !chance(3) { return }
            try await client.deleteZone()
            living[place]?.remove(zone)
            model.deleteZone(zone, place, by: author)
        } else {
            try await client.createZone()
            living[place, default: []].insert(zone)
            model.createZone(zone, place, by: author)
        }
    }

    private mutating func predicate() -> Query.Predicate {
        let n = Int64.random(in: 0..<4, using: &random)
        switch Int.random(in: 0..<6, using: &random) {
        case 0: return .always
        case 1: return .compare("n", .equal, .value(.int64(n)))
        case 2: return .compare("n", .in, .value(.int64List([n, 1])))
        case 3: return .compare("tags", .contains, pick(["x", "y", "z"]) == "x" ? "x" : "z")
        case 4:
            return .and([
                .compare("n", .greaterThan, .value(.int64(n))), .compare("tags", .contains, "y"),
            ])
        default:
            return .or([
                .compare("n", .equal, .value(.double(Double(n)))),
                .not(.compare("tags", .contains, "z")),
            ])
        }
    }

    private mutating func saveSubscription(_ place: Model.Place) async throws {
        // So that what has fired once is gone, as it is in the model.
        try await store.waitUntilNotified()
        let author = author(in: place)
        let zone = pick(zones(of: place))
        let client = client(author, place, zone)
        let kind: Subscription.Kind
        let type: Name? = chance(2) ? Name(pick(["Note", "Task"])) : nil
        switch Int.random(in: 0..<4, using: &random) {
        case 0 where !place.isPublic && zone != ZoneID.defaultZoneName:
            kind = .zone(client.zone, recordType: type)
        case 1 where !place.isPublic: kind = .database(recordType: type)
        default:
            let bits = UInt8.random(in: 1...7, using: &random)
            var options = Subscription.Options(rawValue: bits)
            if chance(3) { options.insert(.once) }
            kind = .query(
                .init(
                    recordType: pick(["Note", "Task"]),
                    predicate: predicate(),
                    options: options,
                    zone: chance(4) ? client.zone : nil
                )
            )
        }
        let subscription = Subscription("s\(Int.random(in: 0..<5, using: &random))", kind)
        let holder = Model.Holder(user: author.user, place: place)
        let isAccepted = model.save(subscription, of: holder)
        let refusal = try await client.refusal(of: subscription)
        #expect(refusal?.code == (isAccepted ? nil : .serverRejectedRequest), "seed \(seed)")
    }

    private mutating func deleteSubscription(_ place: Model.Place) async throws {
        let author = author(in: place)
        let id = "s\(Int.random(in: 0..<5, using: &random))"
        try await client(author, place, "a").unsubscribe(id)
        model.delete(id, of: Model.Holder(user: author.user, place: place))
    }

    private mutating func read() async throws {
        let user = pick(Self.users)
        let device = pick(Self.devices)
        let client = client(.init(user: user, device: device), Self.places[0], "a")
        let heard = try await client.heard().notifications
        var chosen: Set<String> = []
        for summary in Set(heard.map(\.summary)).sorted() where chance(3) { chosen.insert(summary) }
        let ids = heard.filter { chosen.contains($0.summary) }.compactMap(\.id)
        for answer in try await store.markNotificationsRead(ids, as: client.caller) {
            _ = try answer.get()
        }
        model.read(chosen, by: user, on: device)
    }

    private mutating func holdToken() async throws {
        let user = pick(Self.users)
        let device = pick(Self.devices)
        let client = client(.init(user: user, device: device), Self.places[0], "a")
        tokens.append((user, device, try await client.heard().token, model.number))
    }

    private mutating func reopen() throws {
        try store.close()
        store = try Store.open(at: folder.path(), access: .writing, options: options)
    }

    mutating func compact() async throws {
        var policy = CompactionPolicy()
        policy.history = .none
        policy.tombstones = seed % 2 == 0 ? .none : .all
        expiries += try await store.compact(policy).expiries
    }

    // MARK: Comparing

    func compare() async throws {
        for user in Self.users {
            for device in Self.devices {
                let client = client(.init(user: user, device: device), Self.places[0], "a")
                let heard = try await client.summary()
                #expect(
                    heard.sorted() == model.heard(by: user, on: device).sorted(),
                    "seed \(seed), \(user) on \(device ?? "-")"
                )
            }
        }
        for (user, device, token, number) in tokens {
            let client = client(.init(user: user, device: device), Self.places[0], "a")
            let position = try store.position(of: token)
            let isForgotten = expiries.contains {
                $0.zoneName == "_notifications" && $0.owner == user && $0.position > position
            }
            if isForgotten {
                let error = await #expect(throws: SyncError.self) {
                    try await client.heard(since: token)
                }
                #expect(error?.code == .changeTokenExpired, "seed \(seed)")
                continue
            }
            let heard = try await client.heard(since: token).notifications
                .filter { $0.kind != .read }
            #expect(
                heard.map(\.summary).sorted()
                    == model.heard(by: user, on: device, after: number).sorted(),
                "seed \(seed), \(user) on \(device ?? "-") after \(number)"
            )
        }
        for place in Self.places {
            for user in Self.users where place.owner != "_anna" || user == "_anna" {
                let client = client(.init(user: user, device: nil), place, "a")
                let saved = try await store.subscriptions(as: client.caller)
                let holder = Model.Holder(user: user, place: place)
                let expected = (model.subscriptions[holder] ?? [:]).values.sorted { $0.id < $1.id }
                #expect(saved == expected, "seed \(seed), \(user) in \(place)")
            }
        }
    }

    func finish() async throws {
        try await compare()
        try store.close()
        // In the end without anything but the log and a new notifier.
        let again = try Store.open(at: folder.path(), access: .writing, options: options)
        for user in Self.users {
            let caller = Caller(database: .standard, user: UserID(user), device: "somewhere else")
            let heard = try await Client(store: again, caller: caller).summary()
            #expect(heard.sorted() == model.heard(by: user, on: "somewhere else").sorted())
        }
        try again.close()
    }
}

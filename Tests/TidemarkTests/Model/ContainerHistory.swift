// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import Tidemark
import TidemarkLog
import TidemarkModel

/// A history of several users, each with two devices, over one container: in a store and in the
/// models, which say what every answer should be.
struct ContainerHistory {
    typealias Place = ContainerModel.Place
    typealias Author = NotificationModel.Author
    typealias View = ContainerModel.View

    /// A version of a record of somebody's database.
    struct VersionKey: Hashable {
        var owner: String
        var number: Int
    }

    /// A token that a user was given for a zone, and what they saw then.
    struct Token {
        var token: ChangeToken
        var user: String
        var place: Place
        /// The number of the database's last change, its zone's epoch, and the user's times out of it.
        var number: Int
        var epoch: Int
        var absences: Int
        var step: Int
        var view: View
    }

    static let users = ["_anna", "_bob", "_carol", "_dan"]
    static let devices = ["phone", "pad"]
    static let places = [
        Place(owner: "_anna", zone: "a"), Place(owner: "_anna", zone: "b"),
        Place(owner: "_bob", zone: "a"),
    ]
    static let names = (0..<12).map { "r\($0)" }

    let folder: ScratchFolder
    var store: Store
    var random: SeededGenerator
    let seed: UInt64
    var step = 0
    var model = ContainerModel()
    var notifications = NotificationModel()
    var tags: [VersionKey: RecordChangeTag] = [:]
    var tokens: [Token] = []
    var heard: [(user: String, device: String, token: ChangeToken, number: Int)] = []
    /// For each user and place, when a record was last seen to leave.
    var departures: [String: [Place: [String: Int]]] = [:]
    /// For each user and place, how often the zone as a whole was lost.
    var absences: [String: [Place: Int]] = [:]
    /// For each place, when a record was last under another share than before.
    var moves: [Place: [String: Int]] = [:]
    /// How often somebody saw something of somebody else, so that something was tested.
    var sharedCount = 0
    /// Whether the log is compacted now and then, and forgets deletions too in every second history.
    let compacts: Bool
    /// Where deletions were forgotten, up to which position.
    var expiries: [CompactionReport.TokenExpiry] = []
    /// Positions from before this one may have been dropped from lists.
    var historyHorizon = SequenceNumber.zero

    init(seed: UInt64, compacts: Bool = false) throws {
        self.seed = seed
        self.compacts = compacts
        random = SeededGenerator(seed: seed)
        folder = try ScratchFolder()
        store = try Store.open(
            at: folder.path(),
            access: .creating,
            options: Self.options(compacts: compacts)
        )
    }

    static func options(compacts: Bool) -> StoreOptions {
        var options = StoreOptions()
        // Small ones, so that there are many to compact.
        if compacts { options.segmentByteCount = 16 << 10 }
        options.checkpointEventCount = 60
        options.durability = .none
        options.limits.recordsPerPage = 5
        return options
    }

    var place: String { "seed \(seed), step \(step)" }

    mutating func pick<Element>(_ pool: [Element]) -> Element {
        pool[Int.random(in: 0..<pool.count, using: &random)]
    }

    mutating func chance(_ percent: Int) -> Bool {
        Int.random(in: 0..<100, using: &random) < percent
    }

    /// A client of a zone: in the owner's private database, or in the shared one of somebody else.
    func client(_ user: String, _ place: Place, on device: String = "phone") -> Client {
        let isOwner = user == place.owner
        return Client(
            store: store,
            caller: Caller(
                database: isOwner
                    ? DatabaseID(owner: UserID(user))
                    : DatabaseID(scope: .shared, owner: UserID(user)),
                user: UserID(user),
                device: device
            ),
            zone: isOwner
                ? ZoneID(zoneName: place.zone)
                : ZoneID(zoneName: place.zone, ownerName: place.owner)
        )
    }

    // MARK: What happens

    mutating func begin() async throws {
        for owner in ["_anna", "_bob"] {
            // The fields are there from the beginning, so that queries and subscriptions may name them.
            var client = client(owner, Place(owner: owner, zone: "a"))
            client.zone = .default
            let fields: KeyValuePairs<String, FieldValue?> = ["x": 0, "y": 0, "z": 0]
            try await client.put("first", fields)
        }
        for place in Self.places {
            try await act(in: place, by: Author(user: place.owner, device: "phone")) { history in
                try await history.client(place.owner, place).createZone()
                history.model.createZone(place)
            }
            try await fill(place)
        }
    }

    /// Saves all records, in small trees.
    mutating func fill(_ place: Place) async throws {
        let saves = Self.names.enumerated().map { index, name in
            RulesModel.Save(
                name: name,
                fields: ["x": Int64(index), "y": 1],
                policy: .changedKeys,
                parent: index < 4 ? .unchanged : .set(Name(Self.names[index % 4]))
            )
        }
        try await modify(saves, [], isAtomic: true, place, Author(user: place.owner, device: "pad"))
    }

    mutating func advance() async throws {
        step += 1
        if compacts, step % 24 == 0 { try await compact() }
        let place = pick(Self.places)
        let device = pick(Self.devices)
        let owner = Author(user: place.owner, device: device)
        let guests = Self.users.filter { $0 != place.owner }
        // Mostly somebody who sees something.
        let present = guests.filter { model.view(of: $0, in: place) != nil }
        let guest = Author(
            user: pick(present.isEmpty || chance(25) ? guests : present),
            device: device
        )
        if model.database(place.owner).zones[place.zone] == nil, chance(50) {
            try await toggleZone(place, by: owner)
            return try await fill(place)
        }
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<28: try await modify(place, by: owner)
        case 28..<46: try await modify(place, by: guest)
        case 46..<58: try await share(place, by: owner)
        case 58..<60: try await endShare(place, by: owner)
        case 60..<76: try await accept(place, by: Author(user: pick(guests), device: device))
        case 76..<79: try await leave(place, by: guest)
        case 79: try await toggleZone(place, by: owner)
        case 80..<85: try await subscribe(place, by: chance(50) ? owner : guest)
        case 85..<95: try await holdTokens(place)
        case 95..<98: try await holdHeard()
        default: try reopen()
        }
    }

    /// Lets something happen in a zone, and notifies the model of notifications of what came of it.
    mutating func act(
        in place: Place,
        by author: Author,
        _ body: (inout ContainerHistory) async throws -> Void
    ) async throws {
        let before = model
        try await body(&self)
        let epochs = [before, model].map { $0.database(place.owner).zones[place.zone]?.epoch }
        let home = NotificationModel.Place(isPublic: false, owner: place.owner)
        if epochs[0] != nil, epochs[0] != epochs[1] {
            notifications.deleteZone(place.zone, home, by: author)
        }
        if epochs[1] != nil, epochs[0] != epochs[1] {
            notifications.createZone(place.zone, home, by: author)
        }
        if epochs[1] != nil { try await learn(before, place, home, author) }
        for name in model.records(place).keys
        where before.share(showing: name, in: place) != model.share(showing: name, in: place) {
            moves[place, default: [:]][name] = step
        }
        for user in Self.users where user != place.owner {
            let views = [before, model].map { $0.view(of: user, in: place) }
            for name in (views[0] ?? [:]).keys where views[1]?[name] == nil {
                departures[user, default: [:]][place, default: [:]][name] = step
            }
            if views[0] != nil, views[1] == nil {
                absences[user, default: [:]][place, default: 0] += 1
            }
            if views[1] != nil { sharedCount += 1 }
            let parts = [before, model].map { model in
                (model.shares[place] ?? [:]).compactMapValues { share in
                    share.parts[user].flatMap { $0.isAccepted ? $0 : nil }
                }
            }
            guard views[0] != views[1] || parts[0] != parts[1] else { continue }
            notifications.changeShared(with: user, by: author)
        }
    }

    /// Learns the change tags of new versions, and tells of them who subscribed.
    mutating func learn(
        _ before: ContainerModel,
        _ place: Place,
        _ home: NotificationModel.Place,
        _ author: Author
    ) async throws {
        let owner = client(place.owner, place)
        let old = before.database(place.owner).zones[place.zone]?.records ?? [:]
        let new = model.database(place.owner).zones[place.zone]?.records ?? [:]
        let changed = new.filter { old[$0.key]?.number != $0.value.number }
            .sorted { $0.value.number < $1.value.number }
        for (name, version) in changed {
            guard version.fields != nil else {
                notifications.delete(name, in: place.zone, home, by: author)
                continue
            }
            let record = try await owner.fetch(name)[0].get()
            let tag = try #require(record.changeTag)
            #expect(!tags.values.contains(tag), "\(self.place): \(name) has its old version")
            tags[VersionKey(owner: place.owner, number: version.number)] = tag
            notifications.save(record, home, by: author)
        }
    }
}

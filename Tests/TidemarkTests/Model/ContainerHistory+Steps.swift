// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Testing
import Tidemark
import TidemarkModel

/// What can happen in a history; each step asks the store and the model.
extension ContainerHistory {
    mutating func modify(_ place: Place, by author: Author) async throws {
        let isOwner = author.user == place.owner
        var names = Self.names.shuffled(using: &random)
        // Mostly what they see, so that it is about more than whether they see it.
        if let view = model.view(of: author.user, in: place), chance(60) {
            names = names.filter { view[$0] == nil } + names.filter { view[$0] != nil }
        }
        var saves: [RulesModel.Save] = []
        for index in 0..<Int.random(in: isOwner ? 0...3 : 0...2, using: &random) {
            let name = names.removeLast()
            var save = RulesModel.Save(
                name: name,
                fields: fields(),
                held: held(name, place),
                policy: chance(60) ? .changedKeys : pick(SavePolicy.allCases)
            )
            // One of a request, so that it is clear which is at fault.
            if index == 0, chance(isOwner ? 45 : 70) {
                let view = model.view(of: author.user, in: place)?.keys.sorted() ?? []
                let parent = pick(view.isEmpty || chance(30) ? Self.names : view)
                save.parent = chance(85) ? .set(Name(parent)) : .removed
            }
            if isOwner, chance(6) {
                save.links = [.init(target: pick(Self.names), kind: .deleteSelf)]
            }
            saves.append(save)
        }
        let isDeleting = saves.isEmpty || (isOwner && chance(25))
        let deletions = (0..<(isDeleting ? 1 : 0)).map { _ in
            RulesModel.Deletion(name: names.removeLast(), held: nil)
        }
        try await modify(saves, deletions, isAtomic: chance(70), place, author)
    }

    mutating func modify(
        _ saves: [RulesModel.Save],
        _ deletions: [RulesModel.Deletion],
        isAtomic: Bool,
        _ place: Place,
        _ author: Author
    ) async throws {
        let client = client(author.user, place, on: author.device ?? "")
        let request = ModifyRecordsRequest(
            saves: try saves.map { try Self.save($0, client, tag($0.held, place)) },
            deletions: deletions.map { RecordDeletion(client.id($0.name)) },
            isAtomic: isAtomic
        )
        try await act(in: place, by: author) { history in
            let expected = history.model.modify(
                saves,
                deletions,
                in: place,
                isAtomic: isAtomic,
                by: author.user
            )
            let result = try await history.store.modifyRecords(request, as: client.caller)
            let codes =
                result.saves.map { $0.error?.code } + result.deletions.map { $0.error?.code }
            #expect(codes == expected, "\(history.place): \(author) \(saves) \(deletions)")
        }
    }

    static func save(
        _ save: RulesModel.Save,
        _ client: Client,
        _ tag: RecordChangeTag?
    ) throws -> RecordSave {
        var builder = FieldsBuilder()
        for (name, value) in save.fields { try builder.set(name, value.map { .int64($0) }) }
        if let links = save.links {
            try builder.set(
                "links",
                .referenceList(links.map { Reference(recordName: $0.target, action: .deleteSelf) })
            )
        }
        return RecordSave(
            client.id(save.name),
            type: "Note",
            fields: try builder.finish(),
            parent: save.parent,
            changeTag: tag,
            policy: save.policy
        )
    }

    mutating func fields() -> [String: Int64?] {
        var fields: [String: Int64?] = [:]
        for name in ["x", "y", "z"] where chance(60) {
            fields[name] = chance(15) ? .some(nil) : .random(in: 0..<9, using: &random)
        }
        return fields
    }

    /// Mostly the version that is there, sometimes none or an old one.
    mutating func held(_ name: String, _ place: Place) -> Int? {
        if chance(70) { return model.records(place)[name] }
        let old = tags.keys.filter { $0.owner == place.owner }.map(\.number).sorted()
        return chance(50) || old.isEmpty ? nil : pick(old)
    }

    func tag(_ number: Int?, _ place: Place) -> RecordChangeTag? {
        number.flatMap { tags[VersionKey(owner: place.owner, number: $0)] }
    }

    mutating func share(_ place: Place, by author: Author) async throws {
        let known = (model.shares[place] ?? [:]).keys.sorted()
        let root = chance(10) ? nil : Self.names[Int.random(in: 0..<6, using: &random)]
        var save = ContainerModel.ShareSave(
            name: root.map { "s-\($0)" } ?? Share.zoneWideName,
            root: root
        )
        if !known.isEmpty, chance(50) {
            save.name = pick(known)
            save.root = model.shares[place]?[save.name]?.root
        }
        if chance(20) { save.open = pick([.readOnly, .readWrite]) }
        let parts = model.shares[place]?[save.name]?.parts ?? [:]
        for user in Self.users where user != place.owner {
            // Mostly those who take part stay.
            let isKnown = parts[user].map { !$0.isPublic } ?? false
            guard chance(isKnown ? 80 : save.open == .none ? 60 : 10) else { continue }
            save.invited[user] =
                chance(10) ? SharePermission.none : chance(30) ? .readOnly : .readWrite
        }
        let client = client(author.user, place, on: author.device ?? "")
        var record = try client.share(save.name, of: save.root)
        record.share?.publicPermission = save.open
        record.share?.participants = save.invited.sorted { $0.key < $1.key }.map {
            ShareParticipant(user: UserID($0.key), permission: $0.value)
        }
        let saves = [record]
        try await act(in: place, by: author) { history in
            let hasZone = history.model.database(place.owner).zones[place.zone] != nil
            let expected = hasZone ? history.model.save(save, in: place) : .zoneNotFound
            let code = try await client.modify(saves).saves[0].error?.code
            #expect(code == expected, "\(history.place): \(save)")
        }
    }

    mutating func endShare(_ place: Place, by author: Author) async throws {
        guard let name = (model.shares[place] ?? [:]).keys.sorted().randomElement(using: &random)
        else { return }
        let client = client(author.user, place, on: author.device ?? "")
        try await act(in: place, by: author) { history in
            let deletion = RulesModel.Deletion(name: name, held: nil)
            let expected = history.model.modify(
                [],
                [deletion],
                in: place,
                isAtomic: true,
                by: author.user
            )
            let result = try await client.modify([], delete: [RecordDeletion(client.id(name))])
            #expect([result.deletions[0].error?.code] == expected, "\(history.place): \(name)")
        }
    }

    mutating func accept(_ place: Place, by author: Author) async throws {
        let shares = model.shares[place] ?? [:]
        guard var name = shares.keys.sorted().randomElement(using: &random) else { return }
        var author = author
        // Mostly somebody who is awaited.
        let awaited = shares.keys.sorted().flatMap { name in
            (shares[name]?.parts ?? [:]).filter { !$0.value.isAccepted }.keys.sorted()
                .map { (name, $0) }
        }
        if !awaited.isEmpty, chance(80) { (name, author.user) = pick(awaited) }
        let link = store.url(of: try await client(place.owner, place).shared(name))
        let client = client(author.user, place, on: author.device ?? "")
        try await act(in: place, by: author) { history in
            let expected = history.model.accept(name, in: place, by: author.user)
            var code: SyncError.Code?
            do throws(SyncError) {
                _ = try await history.store.acceptShare(link, as: client.caller)
            } catch {
                code = error.code
            }
            #expect(code == expected, "\(history.place): \(author) accepts \(name)")
        }
    }

    mutating func leave(_ place: Place, by author: Author) async throws {
        guard let name = (model.shares[place] ?? [:]).keys.sorted().randomElement(using: &random)
        else { return }
        let client = client(author.user, place, on: author.device ?? "")
        try await act(in: place, by: author) { history in
            let expected = history.model.leave(name, in: place, by: author.user)
            let result = try await client.modify([], delete: [RecordDeletion(client.id(name))])
            #expect(
                result.deletions[0].error?.code == expected,
                "\(history.place): \(author) leaves \(name)"
            )
        }
    }

    mutating func toggleZone(_ place: Place, by author: Author) async throws {
        let client = client(author.user, place, on: author.device ?? "")
        try await act(in: place, by: author) { history in
            if history.model.database(place.owner).zones[place.zone] == nil {
                try await client.createZone()
                history.model.createZone(place)
            } else {
                let request = ModifyZonesRequest(deletions: [client.zone])
                let result = try await history.store.modifyZones(request, as: client.caller)
                #expect(result.deletions[0].error?.code == history.model.deleteZone(place))
            }
        }
    }

    mutating func subscribe(_ place: Place, by author: Author) async throws {
        // What a zone's end takes along is gone then, as it is in the model.
        try await store.waitUntilNotified()
        let isOwner = author.user == place.owner
        let client = client(author.user, place, on: author.device ?? "")
        let holder = NotificationModel.Holder(
            user: author.user,
            place: .init(isPublic: false, owner: author.user, isShared: !isOwner)
        )
        let id = "s\(Int.random(in: 0..<4, using: &random))"
        if chance(20) {
            try await client.unsubscribe(id)
            notifications.delete(id, of: holder)
            return
        }
        var kind = Subscription.Kind.database()
        if isOwner, chance(70) {
            guard model.database(place.owner).zones[place.zone] != nil else { return }
            let query = Subscription.RecordQuery(
                recordType: "Note",
                predicate: try Query.Predicate(
                    format: "x > \(Int.random(in: 0..<9, using: &random))"
                ),
                options: .init(rawValue: UInt8.random(in: 1...7, using: &random)),
                zone: chance(50) ? client.zone : nil
            )
            kind = chance(40) ? .zone(client.zone) : .query(query)
        }
        let subscription = Subscription(id, kind)
        let isAccepted = notifications.save(subscription, of: holder)
        let refusal = try await client.refusal(of: subscription)
        #expect(refusal?.code == (isAccepted ? nil : .serverRejectedRequest), "\(self.place)")
    }

    mutating func holdTokens(_ place: Place) async throws {
        for user in Self.users {
            let isOwner = user == place.owner
            guard let zone = model.database(place.owner).zones[place.zone],
                let view = isOwner ? model.records(place) : model.view(of: user, in: place)
            else { continue }
            tokens.append(
                Token(
                    token: try await client(user, place).changes().token,
                    user: user,
                    place: place,
                    number: model.database(place.owner).lastNumber,
                    epoch: zone.epoch,
                    absences: absences[user]?[place] ?? 0,
                    step: step,
                    view: view
                )
            )
        }
    }

    mutating func holdHeard() async throws {
        let (user, device) = (pick(Self.users), pick(Self.devices))
        let client = client(user, Place(owner: user, zone: "a"), on: device)
        heard.append((user, device, try await client.heard().token, notifications.number))
    }

    mutating func reopen() throws {
        try store.close()
        store = try Store.open(
            at: folder.path(),
            access: .writing,
            options: Self.options(compacts: compacts)
        )
    }

    mutating func compact() async throws {
        var policy = CompactionPolicy()
        policy.history = .none
        policy.tombstones = seed % 2 == 0 ? .none : .all
        let report = try await store.compact(policy)
        expiries += report.expiries
        historyHorizon = report.historyHorizon
    }
}

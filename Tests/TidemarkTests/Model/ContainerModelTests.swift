// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import Tidemark
import TidemarkModel

/// Histories of several users and devices over one container, against one model: every answer, what
/// everybody sees, every delta from every token, queries, and everybody's notifications.
@Suite struct ContainerModelTests {
    @Test(arguments: 1...(runsLongTests ? 200 : 5) as ClosedRange<UInt64>)
    func `Results, contents and notifications agree with the model`(seed: UInt64) async throws {
        try await play(ContainerHistory(seed: seed))
    }

    @Test(arguments: 301...(runsLongTests ? 360 : 304) as ClosedRange<UInt64>)
    func `A compacted store agrees with the model, or reports an expired token`(
        seed: UInt64
    ) async throws {
        try await play(ContainerHistory(seed: seed, compacts: true))
    }

    private func play(_ begun: ContainerHistory) async throws {
        var history = begun
        try await history.begin()
        // Where little was shared, little was tested.
        while history.step < 240 || history.sharedCount <= 40 {
            try await history.advance()
            if history.step % 8 == 0 { try await history.checkSome() }
            if history.step % 60 == 0 { try await history.checkAll() }
            try #require(history.step < 1_000, "\(history.place): nothing is shared")
        }
        #expect(history.expiries.isEmpty == (!history.compacts || history.seed % 2 != 0))
        try history.store.close()
    }
}

extension ContainerHistory {
    /// Views and queries of one place.
    mutating func checkSome() async throws {
        let place = pick(Self.places)
        for user in Self.users { try await checkView(of: user, in: place) }
        try await checkQuery(pick(Self.users), place)
    }

    mutating func checkAll() async throws {
        for place in Self.places {
            for user in Self.users {
                try await checkView(of: user, in: place)
                try await checkQuery(user, place)
            }
        }
        for token in tokens { try await check(token) }
        try await checkNotifications()
    }

    /// What a user should see, by change tags; `nil` where there is no zone.
    private func expected(_ user: String, _ place: Place) -> [String: RecordChangeTag]? {
        let isThere = model.database(place.owner).zones[place.zone] != nil
        let view =
            user == place.owner
            ? (isThere ? model.records(place) : nil) : model.view(of: user, in: place)
        return view.map { tagged($0, place) }
    }

    private func tagged(_ view: View, _ place: Place) -> [String: RecordChangeTag] {
        view.compactMapValues { tags[VersionKey(owner: place.owner, number: $0)] }
    }

    private func checkView(of user: String, in place: Place) async throws {
        let client = client(user, place)
        guard let expected = expected(user, place) else {
            let error = await #expect(throws: SyncError.self, "\(self.place): \(user), \(place)") {
                try await client.changes()
            }
            #expect(error?.code == .zoneNotFound, "\(self.place): \(user), \(place)")
            return
        }
        let fetched = try await client.store.fetchRecords(
            FetchRecordsRequest(Self.names.map(client.id)),
            as: client.caller
        )
        for (name, answer) in zip(Self.names, fetched) {
            let text = "\(self.place): \(user) fetches \(name) of \(place)"
            switch answer {
            case .success(let record):
                #expect(record.changeTag == expected[name], "\(text)")
                let version = model.database(place.owner).live(name, in: place.zone)
                #expect(Self.values(record) == version?.fields, "\(text)")
            case .failure(let error):
                #expect(expected[name] == nil && error.code == .unknownItem, "\(text)")
            }
        }
        var found: [String: RecordChangeTag] = [:]
        for case .changed(let record) in try await client.changes().changes {
            found[record.recordID.recordName] = record.changeTag
        }
        #expect(found == expected, "\(self.place): \(user) from the beginning, \(place)")
        let zones = try await client.store.zones(as: client.caller).map(\.zoneID)
        #expect(zones.contains(client.zone), "\(self.place): \(user), \(place)")
    }

    private static func values(_ record: Record) -> [String: Int64] {
        var values: [String: Int64] = [:]
        for field in record.fields {
            if case .int64(let value) = field.value { values[field.name] = value }
        }
        return values
    }

    /// What a device that holds a token is told makes what it saw then what it should see now, and
    /// tells nothing beside.
    private mutating func check(_ token: Token) async throws {
        let client = client(token.user, token.place)
        let text =
            "\(place): \(token.user) from step \(token.step), \(token.place.owner) \(token.place.zone)"
        let epoch = model.database(token.place.owner).zones[token.place.zone]?.epoch
        let absenceCount = absences[token.user]?[token.place] ?? 0
        let isForgotten = try isForgotten(token)
        let changes: [RecordChange]
        do {
            let limit = chance(50) ? 3 : nil
            changes = try await client.changes(since: token.token, limit: limit).changes
        } catch let error as SyncError {
            if expected(token.user, token.place) == nil {
                #expect(error.code == .zoneNotFound, "\(text)")
            } else {
                #expect(error.code == .changeTokenExpired, "\(text)")
                // Only another zone of that name, or another time in it, is a reason, or deletions
                // that compaction has forgotten.
                #expect(
                    epoch != token.epoch || absenceCount > token.absences || isForgotten,
                    "\(text)"
                )
            }
            return
        }
        guard let expected = expected(token.user, token.place) else {
            Issue.record("\(text): answered although there is no zone")
            return
        }
        if token.user == token.place.owner {
            #expect(epoch == token.epoch && !isForgotten, "\(text)")
        }
        let before = tagged(token.view, token.place)
        var seen = before
        for change in changes {
            switch change {
            case .changed(let record):
                let name = record.recordID.recordName
                // It may have gone and come meanwhile, or come to another share that they see.
                let moved = moves[token.place]?[name] ?? -1
                let isNew = max(departure(token, name) ?? -1, moved) > token.step
                #expect(before[name] != record.changeTag || isNew, "\(text): \(name) is not new")
                seen[name] = record.changeTag
            case .deleted(let record):
                let name = record.recordID.recordName
                #expect(before[name] != nil || wasThere(token, name), "\(text): \(name)")
                seen[name] = nil
            }
        }
        #expect(seen == expected, "\(text)")
    }

    /// Whether deletions after a token are forgotten: in its zone, or, for a participant, in the list
    /// of one of the zone's shares.
    private func isForgotten(_ token: Token) throws -> Bool {
        let position = try store.position(of: token.token)
        return expiries.contains { expiry in
            guard expiry.owner == token.place.owner, expiry.position > position else {
                return false
            }
            return expiry.zoneName == token.place.zone
                && (!expiry.isOfShare || token.user != token.place.owner)
        }
    }

    private func departure(_ token: Token, _ name: String) -> Int? {
        departures[token.user]?[token.place]?[name]
    }

    /// Whether the owner had a record after a token was given, or somebody else ever saw it: nobody
    /// is told of a record that they never saw.
    ///
    /// Unless what lists said was forgotten.
    private func wasThere(_ token: Token, _ name: String) -> Bool {
        guard token.user == token.place.owner else {
            return departure(token, name) != nil || historyHorizon > .zero
        }
        let version = model.database(token.place.owner).zones[token.place.zone]?.records[name]
        return (version?.number ?? 0) > token.number
    }

    private mutating func checkQuery(_ user: String, _ place: Place) async throws {
        guard let expected = expected(user, place) else { return }
        let low = Int64.random(in: 0..<9, using: &random)
        let high = Int64.random(in: 0..<9, using: &random)
        let (format, rule) = Self.condition(Int.random(in: 0..<5, using: &random), low, high)
        let query = Query(recordType: "Note", predicate: try Query.Predicate(format: format))
        let client = client(user, place)
        let found = try await client.find(query, in: client.zone, pages: { 3 })
        let records = model.database(place.owner).zones[place.zone]?.records ?? [:]
        let names = expected.keys.filter { name in
            model.shares[place]?[name] == nil && rule(records[name]?.fields ?? [:])
        }
        #expect(
            found.map(\.recordID.recordName) == names.sorted(),
            "\(self.place): \(user) asks \(place) for \(format)"
        )
    }

    /// A predicate, and what it says about a record's fields.
    private static func condition(
        _ number: Int,
        _ low: Int64,
        _ high: Int64
    ) -> (String, ([String: Int64]) -> Bool) {
        switch number {
        case 0: ("x > \(low)", { ($0["x"] ?? -1) > low })
        case 1: ("x != \(low)", { $0["x"] != low })
        case 2: ("x == \(low) OR y < \(high)", { $0["x"] == low || ($0["y"] ?? 99) < high })
        case 3: ("NOT (z IN {\(low), \(high)})", { $0["z"] != low && $0["z"] != high })
        default: ("x >= \(low) AND y == nil", { ($0["x"] ?? -1) >= low && $0["y"] == nil })
        }
    }

    private func checkNotifications() async throws {
        for user in Self.users {
            for device in Self.devices {
                let client = client(user, Place(owner: user, zone: "a"), on: device)
                let heard = try await client.summary()
                #expect(
                    heard.sorted() == notifications.heard(by: user, on: device).sorted(),
                    "\(place): \(user) on \(device)"
                )
            }
        }
        for (user, device, token, number) in heard {
            let client = client(user, Place(owner: user, zone: "a"), on: device)
            let position = try store.position(of: token)
            let isForgotten = expiries.contains {
                $0.zoneName == "_notifications" && $0.owner == user && $0.position > position
            }
            if isForgotten {
                let error = await #expect(throws: SyncError.self) {
                    try await client.heard(since: token)
                }
                #expect(error?.code == .changeTokenExpired, "\(place): \(user) on \(device)")
                continue
            }
            let found = try await client.heard(since: token).notifications
                .filter { $0.kind != .read }
            #expect(
                found.map(\.summary).sorted()
                    == notifications.heard(by: user, on: device, after: number).sorted(),
                "\(place): \(user) on \(device) after \(number)"
            )
        }
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@Suite struct ChangesTests {
    let folder: ScratchFolder
    let lines = SampleHistory.lines(40)

    init() throws {
        folder = try ScratchFolder()
    }

    @Test func `The changes since any token lead to the current state`() async throws {
        let store = folder.path("a.tide")
        var told: [(token: String, known: [String: NSDictionary])] = []
        for line in lines {
            _ = try await folder.store([line], name: "a.tide")
            let outcome = try await Command.run("changes", store, "--zone", "lists")
            // The zone comes into being with the first commit that names it.
            guard outcome.status == 0 else { continue }
            var replica = Replica()
            try replica.apply(outcome)
            #expect(replica.deletionCount == 0)
            told.append((try #require(replica.token), replica.records))
        }
        try #require(told.count > 30)
        let now = try #require(told.last).known
        for (token, known) in told {
            let outcome = try await Command.run([
                "changes", store, "--zone", "lists", "--since", token,
            ])
            #expect(outcome.status == 0)
            var replica = Replica(records: known)
            try replica.apply(outcome)
            #expect(replica.records == now)
            #expect(replica.moreComing == false)
            // Nothing is told that has not changed.
            for (name, record) in replica.told { #expect(known[name] != record) }
        }
    }

    @Test(arguments: [1, 3, 7, 1_000])
    func `All pages together equal the whole result`(limit: Int) async throws {
        let store = try await folder.store(lines)
        let whole = try await Command.run("changes", store, "--zone", "lists")
        var replica = Replica()
        var pageCount = 0
        repeat {
            let since = replica.token.map { ["--since", $0] } ?? []
            let page = try await Command.run(
                ["changes", store, "--zone", "lists", "--limit", "\(limit)"] + since
            )
            #expect(page.status == 0)
            #expect((1...limit + 1).contains(page.lines.count))
            try replica.apply(page)
            pageCount += 1
            try #require(pageCount < 200)
        } while replica.moreComing
        var all = Replica()
        try all.apply(whole)
        #expect(replica.records == all.records)
        #expect(replica.told.count == replica.records.count)
        #expect(pageCount >= (all.records.count + limit - 1) / limit)
    }

    @Test func `Tokens of other stores and zones are rejected`() async throws {
        let store = try await folder.store(lines)
        let other = try await folder.store(lines, name: "other.tide")
        func token(_ store: String, _ zone: String) async throws -> String {
            var replica = Replica()
            try replica.apply(try await Command.run("changes", store, "--zone", zone))
            return try #require(replica.token)
        }
        func refusal(_ token: String) async throws -> String {
            let outcome = try await Command.run([
                "changes", store, "--zone", "lists", "--since", token,
            ])
            #expect(outcome.status == 1)
            #expect(outcome.output == "")
            return outcome.errors
        }
        let good = try await token(store, "lists")
        let ofOtherStore = try await refusal(token(other, "lists"))
        #expect(ofOtherStore.hasPrefix("Error: changeTokenExpired (21)"))
        let ofOtherZone = try await refusal(token(store, "Küche"))
        #expect(ofOtherZone.hasPrefix("Error: invalidArguments (12)"))
        let middle = good.index(good.startIndex, offsetBy: 30)
        let letter = good[middle] == "A" ? "B" : "A"
        let changed = good.replacingCharacters(in: middle...middle, with: letter)
        let damaged = try await refusal(changed)
        #expect(damaged.hasPrefix("Error: invalidArguments (12)"))
        let misused = try await Command.run("changes", store, "--zone", "lists", "--since", "x")
        #expect(misused.status == 64)
        let missing = try await Command.run("changes", store, "--zone", "nothing")
        #expect(missing.status == 1)
        #expect(missing.errors.hasPrefix("Error: zoneNotFound (26)"))
    }
}

/// A device's copy of a zone, kept up to date from the printed lines.
struct Replica {
    var records: [String: NSDictionary] = [:]
    /// What the lines told as changed, in all.
    private(set) var told: [String: NSDictionary] = [:]
    private(set) var deletionCount = 0
    private(set) var token: String?
    private(set) var moreComing = true

    /// Takes in an answer; every record may come once in it.
    mutating func apply(_ outcome: Command.Outcome) throws {
        let objects = try outcome.objects()
        var named: Set<String> = []
        for object in objects.dropLast() {
            if let record = object["changed"] as? [String: Any] {
                let name = try #require(record["recordName"] as? String)
                #expect(named.insert(name).inserted)
                records[name] = record as NSDictionary
                told[name] = record as NSDictionary
            } else {
                let deletion = try #require(object["deleted"] as? [String: String])
                #expect(Set(deletion.keys) == ["zone", "recordName", "recordType"])
                let name = try #require(deletion["recordName"])
                #expect(named.insert(name).inserted)
                records[name] = nil
                deletionCount += 1
            }
        }
        let last = try #require(objects.last)
        #expect(Set(last.keys) == ["token", "moreComing"])
        token = try #require(last["token"] as? String)
        moreComing = try #require(last["moreComing"] as? Bool)
    }
}

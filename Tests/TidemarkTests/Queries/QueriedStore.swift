// Tidemark
// SPDX-License-Identifier: Apache-2.0

import GeneratedQueries
import Testing
import Tidemark
import TidemarkLog
import TidemarkModel

extension Client {
    /// All pages of a query, each of at most so many records.
    func find(
        _ query: Query,
        in zone: ZoneID?,
        pages limit: () -> Int? = { nil },
        asOf position: SequenceNumber? = nil
    ) async throws -> [Record] {
        var found: [Record] = []
        var request = QueryRequest(query, in: zone)
        repeat {
            request.limit = limit()
            let page =
                if let position {
                    try await store.query(request, as: caller, asOf: position)
                } else {
                    try await store.query(request, as: caller)
                }
            if let limit = request.limit { #expect(page.records.count <= limit) }
            found += page.records
            request.cursor = page.cursor
        } while request.cursor != nil
        return found
    }

    /// The names of what a predicate finds in the client's zone.
    func find(_ predicate: String, type: String = "Note") async throws -> [String] {
        let query = Query(recordType: type, predicate: try Query.Predicate(format: predicate))
        return try await find(query, in: zone).map(\.recordID.recordName)
    }

    /// Why a predicate is refused.
    func refusal(of predicate: String, type: String = "Note") async throws -> SyncError? {
        do {
            _ = try await find(predicate, type: type)
            return nil
        } catch let error as SyncError {
            return error
        }
    }
}

/// A store, what happens to it by chance, and what a look at every record finds.
struct QueriedStore {
    static let zones = ["a", "b", "c"].map { ZoneID(zoneName: $0) }
    static let now: Int64 = 1_700_000_000_000

    var client: Client
    var generator: PredicateGenerator
    /// The type of every name, which it keeps.
    private static func type(of number: Int) -> String { number % 5 == 0 ? "Other" : "Note" }

    init(_ client: Client, seed: UInt64) async throws {
        self.client = client
        generator = PredicateGenerator(seed: seed)
        let request = ModifyZonesRequest(saves: Self.zones)
        _ = try await client.store.modifyZones(request, as: client.caller)
    }

    /// Without a schema, since what is generated has fields of several types.
    static var options: StoreOptions {
        var options = StoreOptions()
        options.checksSchema = false
        return options
    }

    /// Saves, replaces and deletes; now and then a zone goes, and comes again.
    mutating func grow(by count: Int) async throws {
        for _ in 0..<count {
            var client = client
            client.zone = generator.pick(Self.zones + [.default])
            if generator.chance(60), !client.zone.isDefault {
                let deletion = ModifyZonesRequest(deletions: [client.zone])
                _ = try await client.store.modifyZones(deletion, as: client.caller)
                let creation = ModifyZonesRequest(saves: [client.zone])
                if !generator.chance(3) {
                    _ = try await client.store.modifyZones(creation, as: client.caller)
                }
                continue
            }
            let zones = ModifyZonesRequest(saves: [client.zone])
            if !client.zone.isDefault {
                _ = try await client.store.modifyZones(zones, as: client.caller)
            }
            var saves: [RecordSave] = []
            var deletions: [RecordDeletion] = []
            var numbers: Set<Int> = []
            for _ in 0..<generator.pick([1, 1, 3, 6]) {
                numbers.insert(Int.random(in: 0..<30, using: &generator.random))
            }
            for number in numbers.sorted() {
                let id = client.id("r\(number)")
                if generator.chance(4) {
                    deletions.append(RecordDeletion(id))
                } else {
                    let record = try generator.record(ofType: Self.type(of: number))
                    let fields = try Self.fields(of: record)
                    saves.append(
                        RecordSave(id, type: record.recordType, fields: fields, policy: .replace)
                    )
                }
            }
            let result = try await client.modify(saves, delete: deletions)
            for save in result.saves { _ = try save.get() }
        }
    }

    /// Assets have to be brought before they are named.
    private static func fields(of record: Record) throws -> Fields {
        var builder = FieldsBuilder()
        for field in record.fields {
            guard let value = field.value, value.type != .asset, value.type != .assetList else {
                continue
            }
            try builder.set(field.name, value, isEncrypted: field.isEncrypted)
        }
        return try builder.finish()
    }

    mutating func query(depth: Int = 3) -> Query {
        let descriptors = generator.sortDescriptors()
        return Query(
            recordType: generator.chance(5) ? "Other" : "Note",
            predicate: generator.predicate(depth: depth),
            sortDescriptors: descriptors
        )
    }

    /// What a look at every record finds: in one zone, or as a set in all of them.
    func expected(_ query: Query, in zone: ZoneID?) throws -> [Record] {
        let user = client.caller.user ?? .current
        let matcher = try Query.Matcher(
            query.predicate.resolvingCurrentUser(as: user),
            now: Self.now
        )
        let order = Query.RecordOrder(query.sortDescriptors)
        var found: [Record] = []
        try client.store.visitRecords(of: client.caller.database, in: zone) { record in
            if record.recordType == query.recordType, matcher.matches(record) {
                found.append(record)
            }
            return true
        }
        return found.sorted { order.areInIncreasingOrder($0, $1) }
    }
}

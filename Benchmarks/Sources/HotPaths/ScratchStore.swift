// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import Synchronization
import Tidemark
import TidemarkModel
import Workload

/// Runs asynchronous work from a thread that may wait.
func blocking<Result: Sendable>(
    _ body: @escaping @Sendable () async throws -> Result
) throws -> Result {
    let done = DispatchSemaphore(value: 0)
    let result = Mutex<Swift.Result<Result, any Error>?>(nil)
    Task.detached {
        let found: Swift.Result<Result, any Error>
        do { found = .success(try await body()) } catch { found = .failure(error) }
        result.withLock { $0 = found }
        done.signal()
    }
    done.wait()
    guard let found = result.withLock({ $0 }) else { throw WrongCount() }
    return try found.get()
}

/// A store with one zone, in a folder of its own that goes when it goes.
final class ScratchStore: Sendable {
    enum Kind {
        case insert, update
        /// With the tags of the versions that are replaced, by name.
        case unchanged([String: RecordChangeTag])
    }

    static let zone = ZoneID(zoneName: "zone")
    let store: Store
    let folder: String

    /// Makes a store with records; with `reopened`, the list of their changes comes from the disk.
    init(
        recordCount: Int = 0,
        journal: StoreOptions.Journal = .refusals,
        reopened: Bool = false
    ) throws {
        folder = try ScratchFolder.make()
        var options = unsynced
        options.journal = journal
        let filling = try Store.open(at: folder, access: .creating, options: options)
        try blocking {
            let zones = ModifyZonesRequest(saves: [Self.zone])
            _ = try await filling.modifyZones(zones, as: Caller())
            for request in try Self.requests(recordCount, .insert) {
                _ = try await filling.modifyRecords(request, as: Caller())
            }
        }
        guard reopened else {
            store = filling
            return
        }
        try filling.close()
        store = try Store.open(at: folder, options: options)
    }

    deinit {
        try? store.close()
        try? FileManager.default.removeItem(atPath: folder)
    }

    static func request(_ numbers: some Sequence<Int>, _ kind: Kind) throws -> ModifyRecordsRequest
    {
        let saves = try numbers.map { number in
            var change = Change(zone: 0, number: number, version: 1)
            var policy = SavePolicy.ifServerRecordUnchanged
            var tag: RecordChangeTag?
            switch kind {
            case .insert: change.version = 0
            case .update: policy = .replace
            case .unchanged(let tags): tag = tags[change.name]
            }
            return RecordSave(
                RecordID(recordName: change.name, zone: zone),
                type: "Page",
                fields: try Pages.fields(Pages.source.page(for: change)),
                changeTag: tag,
                policy: policy
            )
        }
        return ModifyRecordsRequest(saves: saves)
    }

    static func requests(_ count: Int, _ kind: Kind) throws -> [ModifyRecordsRequest] {
        try stride(from: 0, to: count, by: 400).map {
            try request($0..<min($0 + 400, count), kind)
        }
    }

    /// Requests that save so many tasks; about 100 of them share each shelf.
    static func tasks(_ count: Int) throws -> [ModifyRecordsRequest] {
        try stride(from: 0, to: count, by: 400).map { start in
            let saves = try (start..<min(start + 400, count)).map { number in
                let task = TaskRecord(number, of: count)
                let id = RecordID(recordName: task.name, zone: zone)
                let fields = try Fields([
                    "title": .string(task.title), "note": .string(task.note),
                    "shelf": .int64(task.shelf), "price": .double(task.price),
                    "due": .timestamp(task.due), "done": .int64(task.done),
                ])
                return RecordSave(id, type: "Task", fields: fields)
            }
            return ModifyRecordsRequest(saves: saves)
        }
    }

    func save(_ request: ModifyRecordsRequest) async throws {
        let result = try await store.modifyRecords(request, as: Caller())
        for outcome in result.saves { _ = try outcome.get() }
    }

    func readAll(atMost count: Int) async throws -> Int {
        var seen = 0
        var request = ZoneChangesRequest(zone: Self.zone, limit: 5_000)
        while seen < count {
            let page = try await store.zoneChanges(request, as: Caller())
            seen += page.changes.count
            request.since = page.token
            if !page.moreComing { break }
        }
        return seen
    }

    /// The tags of all records, by name.
    func tags() async throws -> [String: RecordChangeTag] {
        var tags: [String: RecordChangeTag] = [:]
        var request = ZoneChangesRequest(zone: Self.zone, limit: 5_000)
        while true {
            let page = try await store.zoneChanges(request, as: Caller())
            for case .changed(let record) in page.changes {
                tags[record.recordID.recordName] = record.changeTag
            }
            guard page.moreComing else { return tags }
            request.since = page.token
        }
    }

    /// The token of a device that has all there is.
    func lastToken() async throws -> ChangeToken {
        let all = ZoneChangesRequest(zone: Self.zone, limit: 5_000)
        return try await store.zoneChanges(all, as: Caller()).token
    }
}

/// Folders of this process, all in one.
package enum ScratchFolder {
    private static let parent =
        FileManager.default.temporaryDirectory.path
        + "/tidemark-drive-\(ProcessInfo.processInfo.processIdentifier)"

    /// A path where nothing is yet.
    static func make() throws -> String {
        try FileManager.default.createDirectory(
            atPath: parent,
            withIntermediateDirectories: true
        )
        return "\(parent)/\(UUID()).tide"
    }

    /// Removes all of them: a task that has not quite ended may still hold the last one.
    package static func removeAll() {
        try? FileManager.default.removeItem(atPath: parent)
    }
}

/// A store on disk that is closed until it is asked for.
package final class IdleStore {
    private let scratch: ScratchStore

    /// Makes the store, with records in one zone, and closes it.
    package init(recordCount: Int) throws {
        scratch = try ScratchStore(recordCount: recordCount)
        try scratch.store.close()
    }

    /// Opens the store, reads one record, and calls the closure while it is idle.
    package func whileOpen<Result>(_ body: () throws -> Result) throws -> Result {
        let store = try Store.open(at: scratch.folder)
        let id = RecordID(recordName: Change(zone: 0, number: 1).name, zone: ScratchStore.zone)
        try blocking {
            let found = try await store.fetchRecords(FetchRecordsRequest([id]), as: Caller())
            for record in found { _ = try record.get() }
        }
        defer { try? store.close() }
        return try body()
    }
}

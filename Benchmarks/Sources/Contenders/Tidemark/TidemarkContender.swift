// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Tidemark
import TidemarkLog
import TidemarkModel
import Workload

/// Tidemark, through the door that an app has: `Store`.
package final class TidemarkContender: Contender {
    package static let name = "tidemark"

    private static let caller = Caller()
    let store: Store

    package static func conditions(for work: Work) -> String {
        "Tidemark, cache \(cacheByteCount(for: work) >> 20) MiB, pages of a delta: up to "
            + "\(recordsPerPage) records, else default options"
    }

    /// SQLite answers a whole zone with one statement; fewer, larger pages come closest to that.
    private static let recordsPerPage = 5_000
    /// As much as the others have.
    private static func cacheByteCount(for work: Work) -> Int {
        work == .firstSyncUncached ? 0 : 64 << 20
    }

    package static func open(
        _ folder: String,
        for work: Work,
        durability: Durability
    ) async throws -> TidemarkContender {
        try TidemarkContender(folder, work, durability)
    }

    /// With a store that is open.
    init(_ store: Store) { self.store = store }

    private init(_ folder: String, _ work: Work, _ durability: Durability) throws {
        var options = StoreOptions()
        options.durability = durability == .full ? .full : .none
        options.limits.recordsPerPage = Self.recordsPerPage
        options.cacheByteCount = Self.cacheByteCount(for: work)
        store = try Store.open(
            at: Self.path(in: folder),
            access: .creating,
            options: options
        )
    }

    static func path(in folder: String) -> String { folder + "/records.tide" }

    private static func zone(_ number: some BinaryInteger) -> ZoneID {
        ZoneID(zoneName: "zone-\(number)")
    }

    // MARK: Saving

    /// A record as an app has it, named fields with values: the store encodes them.
    package func prepare(_ batch: Batch, _ pages: PageSource) throws -> ModifyRecordsRequest {
        var page = Page()
        let saves = try batch.changes.map { change in
            pages.fill(&page, for: change)
            let fields = try Fields([
                "title": .string(String(decoding: page.title, as: UTF8.self)),
                "folder": .string(String(decoding: page.folder, as: UTF8.self)),
                "text": .string(String(decoding: page.text, as: UTF8.self)),
                "lines": .int64(page.lineCount),
            ])
            // An insert is refused if the record is there; an update replaces it as a whole.
            return RecordSave(
                RecordID(recordName: change.name, zone: Self.zone(change.zone)),
                type: "Page",
                fields: fields,
                policy: batch.isInsert ? .ifServerRecordUnchanged : .replace
            )
        }
        return ModifyRecordsRequest(saves: saves)
    }

    package func save(_ prepared: ModifyRecordsRequest) async throws {
        let result = try await store.modifyRecords(prepared, as: Self.caller)
        for outcome in result.saves { _ = try outcome.get() }
    }

    /// One task for each writer.
    package func save(writers: [[ModifyRecordsRequest]]) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for commits in writers {
                group.addTask {
                    for commit in commits { try await self.save(commit) }
                }
            }
            try await group.waitForAll()
        }
    }

    package func fill(_ history: History, _ pages: PageSource) async throws {
        let zones = (0..<history.zoneCount).map(Self.zone)
        _ = try await store.modifyZones(ModifyZonesRequest(saves: zones), as: Self.caller)
        var importing = try store.beginImport()
        var commits: [Batch] = []
        history.forEachBatch(of: 400) { commits.append($0) }
        for (time, commit) in commits.enumerated() {
            let changes = try prepare(commit, pages).saves.map {
                ChangeStreamLine.Change.save(
                    recordID: $0.recordID,
                    recordType: "Page",
                    fields: $0.fields
                )
            }
            let line = ChangeStreamLine(
                time: 1_400_000_000_000 + Int64(time),
                user: .current,
                changes: changes
            )
            _ = try await importing.add(line)
        }
        try await importing.finish()
    }

    package func compact() async throws { _ = try await store.compact(keeping: .current) }

    // MARK: Reading

    package func position(inZone zone: Int) async throws -> String {
        try await pages(of: zone, since: nil) { _ in }.description
    }

    package func readAll(zone: Int, into sink: Sink) async throws {
        _ = try await pages(of: zone, since: nil) { Self.take($0, into: sink) }
    }

    package func readChanges(zone: Int, since position: String, into sink: Sink) async throws {
        guard let token = ChangeToken(position) else { throw NotAPosition(text: position) }
        _ = try await pages(of: zone, since: token) { Self.take($0, into: sink) }
    }

    /// Reads page after page, and says where the last one ends.
    func pages(
        of zone: Int,
        since start: ChangeToken?,
        _ visit: (ZoneChanges) -> Void
    ) async throws -> ChangeToken {
        var request = ZoneChangesRequest(
            zone: Self.zone(zone),
            since: start,
            limit: Self.recordsPerPage
        )
        while true {
            let page = try await store.zoneChanges(request, as: Self.caller)
            visit(page)
            guard page.moreComing else { return page.token }
            request.since = page.token
        }
    }

    /// A record's bytes have its name in them; its version is a tag, of which the text is made.
    private static func take(_ page: ZoneChanges, into sink: Sink) {
        for case .changed(let record) in page.changes {
            let tagByteCount = record.changeTag?.text.utf8.count ?? 0
            record.body.bytes.withUnsafeBytes {
                sink.take(
                    name: UnsafeRawBufferPointer(start: nil, count: 0),
                    sequence: UInt64(tagByteCount),
                    value: $0
                )
            }
        }
    }

    package func page(of change: Change) async throws -> Page? {
        let id = RecordID(recordName: change.name, zone: Self.zone(change.zone))
        let found = try await store.fetchRecords(FetchRecordsRequest([id]), as: Self.caller)
        guard case .success(let record)? = found.first,
            case .string(let title)? = record["title"],
            case .string(let folder)? = record["folder"],
            case .string(let text)? = record["text"], case .int64(let lines)? = record["lines"]
        else { return nil }
        return Page(
            title: Array(title.utf8),
            folder: Array(folder.utf8),
            text: Array(text.utf8),
            lineCount: lines
        )
    }

    package func close() throws { try store.close() }

    // MARK: The log

    package static func replay(_ folder: String) async throws -> Double? {
        try FileManager.default.removeItem(atPath: path(in: folder) + "/views")
        let start = ContinuousClock.now
        let store = try Store.open(at: path(in: folder))
        let passed = start.duration(to: .now)
        defer { try? store.close() }
        return Double(store.lastSequence.rawValue) / (passed / .seconds(1))
    }
}

/// A position that was not handed out by this engine.
struct NotAPosition: Error {
    let text: String
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Tidemark
import TidemarkEvents
import TidemarkLog
import TidemarkModel

/// The records of one zone that may differ between two points, to be visited in the order of their
/// names' bytes, each as it was at both.
///
/// The log has them in the order of their changes. So their names are read first and sorted, and then
/// the records, some at a time.
struct RecordPairs {
    /// A record as it was at two points.
    struct Pair {
        var before: Record?
        var after: Record?
    }

    private struct Entry {
        var name: Name
        var versions: DifferingZone.Versions
    }

    /// The number of records to read at a time.
    private static let runLength = 512

    private let zone: ZoneID
    private let log: PastLog
    private var entries: [Entry] = []

    /// Reads the names.
    init(_ differing: DifferingZone, of name: Name?, _ log: PastLog) throws(SyncError) {
        zone = differing.zone
        self.log = log
        let records = differing.records.sorted { $0.witness < $1.witness }
        var index = 0
        var entries: [Entry] = []
        try log.read(records.map { $0.witness }) {
            event throws(EventFormatError) in
            if event.isNote { return true }
            // Both sequences ascend, so one pass assigns the events to the records. Events that are
            // gone are skipped.
            while records[index].witness < event.sequence { index += 1 }
            let version = try PastVersion(event)
            if let name {
                guard try version.hasName(name) else { return true }
                entries.append(Entry(name: name, versions: records[index]))
            } else {
                let found = Name(try version.body().recordName)
                entries.append(Entry(name: found, versions: records[index]))
            }
            return true
        }
        // With a name, the records of other names are left out on purpose.
        if name == nil, entries.count < records.count { throw .versionPruned(in: zone) }
        self.entries = Self.merged(entries)
    }

    /// Returns the entries by name; entries of the same name in two epochs of the zone become one
    /// record.
    private static func merged(_ entries: [Entry]) -> [Entry] {
        var merged: [Entry] = []
        for entry in entries.sorted(by: { $0.name < $1.name }) {
            guard let last = merged.last, last.name == entry.name else {
                merged.append(entry)
                continue
            }
            merged[merged.count - 1].versions.add(entry.versions)
        }
        return merged
    }

    /// Visits the records until `visit` returns `false`; returns true if it never did.
    func visit(_ visit: (Pair) throws -> Bool) throws -> Bool {
        // In runs, so that the number of bodies in memory does not depend on the zone.
        for start in stride(from: 0, to: entries.count, by: Self.runLength) {
            do throws(LogError) {
                try LongWork.step(start, of: entries.count)
            } catch {
                throw SyncError(error)
            }
            let run = entries[start..<min(start + Self.runLength, entries.count)]
            let records = try records(of: run)
            for entry in run {
                let pair = Pair(
                    before: try record(entry.versions.before, in: records),
                    after: try record(entry.versions.after, in: records)
                )
                guard try visit(pair) else { return false }
            }
        }
        return true
    }

    private func record(
        _ sequence: SequenceNumber,
        in records: [SequenceNumber: Record]
    ) throws(SyncError) -> Record? {
        if sequence == 0 { return nil }
        guard let record = records[sequence] else { throw .versionPruned(in: zone) }
        return record
    }

    private func records(of run: ArraySlice<Entry>) throws(SyncError) -> [SequenceNumber: Record] {
        let sequences = run.flatMap { [$0.versions.before, $0.versions.after] }
            .filter { $0 != 0 }.sorted()
        var records: [SequenceNumber: Record] = [:]
        try log.read(sequences) { event throws(EventFormatError) in
            if event.isNote { return true }
            let version = try PastVersion(event)
            records[event.sequence] = Record(
                zone: zone,
                changeTag: TagContent(of: event.sequence, in: log.line).tag,
                body: try version.body()
            )
            return true
        }
        return records
    }
}

extension DifferingZone.Versions {
    /// An event that contains the record's name.
    fileprivate var witness: SequenceNumber { after == 0 ? before : after }

    /// Adds the record's versions in another epoch of the zone; at each point the record was in at
    /// most one of them.
    fileprivate mutating func add(_ other: DifferingZone.Versions) {
        before = max(before, other.before)
        after = max(after, other.after)
    }
}

extension SyncError {
    /// A version that is to be compared is not in the log any more.
    fileprivate static func versionPruned(in zone: ZoneID) -> SyncError {
        SyncError(
            .invalidArguments,
            "History pruned: a version of a record in zone \(zone) at the first point is gone from the "
                + "log.",
            isHistoryPruned: true,
            remedy: "Compare from a later point."
        )
    }
}

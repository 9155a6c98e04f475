// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Tidemark
import TidemarkModel
import Workload

extension TidemarkContender {
    /// The log and the views, which SQLite's indexes are the counterpart of, as compacting leaves them:
    /// the counterpart of `VACUUM`.
    ///
    /// Spare space is counted apart: the zeros at the end of the log's files, which are prepared for
    /// what comes next, and the views' pages that hold nothing.
    package static func bytesOnDisk(
        of history: [RealCommit],
        keeping: Kept,
        in folder: String
    ) async throws -> Stored? {
        let path = folder + "/history.tide"
        var options = StoreOptions()
        options.durability = .none
        try await write(history, to: path, options)
        let written = try stored(at: path)
        let again = try Store.open(at: path, options: options)
        _ = try await again.compact(keeping: keeping)
        try again.close()
        var stored = try stored(at: path)
        stored.writtenByteCount = written.byteCount
        return stored
    }

    private static func write(
        _ history: [RealCommit],
        to path: String,
        _ options: StoreOptions
    ) async throws {
        let store = try Store.open(at: path, access: .creating, options: options)
        var importing = try store.beginImport()
        for commit in history {
            _ = try await importing.add(try line(commit))
        }
        try await importing.finish()
        let eventCount = history.reduce(0) { $0 + $1.changes.count }
        guard store.lastSequence.rawValue >= eventCount else { throw LostEvents() }
        try store.close()
    }

    private static func stored(at path: String) throws -> Stored {
        let store = try Store.open(at: path, access: .reading)
        let spare = Int(try store.figures().viewSpareByteCount)
        try store.close()
        let viewByteCount = try usedByteCount(path) { $0.hasPrefix("views/") } - spare
        let logByteCount = try usedByteCount(path) { !$0.hasPrefix("views/") }
        return Stored(
            byteCount: logByteCount + viewByteCount,
            viewByteCount: viewByteCount,
            spareByteCount: try allByteCount(path) - logByteCount - viewByteCount
        )
    }

    private static func line(_ commit: RealCommit) throws -> ChangeStreamLine {
        let changes = try commit.changes.map { change -> ChangeStreamLine.Change in
            let id = RecordID(
                recordName: change.recordName,
                zone: ZoneID(zoneName: change.zone)
            )
            guard let fields = change.fields else { return .delete(id) }
            return .save(
                recordID: id,
                recordType: "Page",
                fields: try Fields([
                    "title": .string(fields.title), "folder": .string(fields.folder),
                    "text": .string(fields.text), "lines": .int64(fields.lines),
                ])
            )
        }
        return ChangeStreamLine(time: commit.time, user: UserID(commit.user), changes: changes)
    }

    private static func allByteCount(_ path: String) throws -> Int {
        let names = FileManager.default.enumerator(atPath: path)?.compactMap { $0 as? String } ?? []
        return try names.reduce(0) { sum, name in
            let file = URL(fileURLWithPath: path + "/" + name)
            return sum + (try file.resourceValues(forKeys: [.fileSizeKey]).fileSize ?? 0)
        }
    }

    private static func usedByteCount(
        _ path: String,
        _ isCounted: (String) -> Bool
    ) throws -> Int {
        let names = FileManager.default.enumerator(atPath: path)?.compactMap { $0 as? String } ?? []
        return try names.filter(isCounted).reduce(0) { sum, name in
            let file = URL(fileURLWithPath: path + "/" + name)
            guard try file.resourceValues(forKeys: [.isRegularFileKey]).isRegularFile == true
            else { return sum }
            let bytes = try Data(contentsOf: file, options: .alwaysMapped)
            // An index has no spare end, and may well end in zeros.
            let isIndex = name.hasPrefix("views/")
            let end = isIndex ? bytes.count : bytes.lastIndex { $0 != 0 }.map { $0 + 1 } ?? 0
            return sum + end
        }
    }
}

/// An import came to fewer events than it was given changes.
private struct LostEvents: Error {}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import CRocksDB
import Workload

/// A history in RocksDB: versions by sequence number, and where each record's last one is.
extension RocksDBContender {
    package static func bytesOnDisk(
        of history: [RealCommit],
        keeping: Kept,
        in folder: String
    ) async throws -> Stored? {
        let path = folder + "/history.rocks"
        let database = try RocksDatabase(
            path,
            families: ["versions", "names", "commits"],
            durability: .none
        )
        var last: [String: UInt64] = [:]
        var sequence: UInt64 = 0
        for commit in history {
            let writes = RocksBatch()
            let first = sequence + 1
            for change in commit.changes {
                sequence += 1
                let key = "\(change.zone)/\(change.recordName)"
                let old = last[key]
                let isGone = change.fields == nil && keeping == .current
                last[key] = isGone ? nil : sequence
                if keeping == .current, let old {
                    writes.delete(database.families[1], bigEndian(old))
                }
                if isGone {
                    writes.delete(database.families[2], Array(key.utf8))
                } else {
                    writes.put(database.families[2], Array(key.utf8), bigEndian(sequence))
                    writes.put(
                        database.families[1],
                        bigEndian(sequence),
                        value(of: change, key: key, previous: old ?? 0)
                    )
                }
            }
            let author = bigEndian(UInt64(bitPattern: commit.time)) + Array(commit.user.utf8)
            writes.put(database.families[3], bigEndian(first), author)
            try RocksDatabase.checked {
                rocksdb_write(database.handle, database.write, writes.handle, &$0)
            }
        }
        try database.compact()
        let byteCount = try database.tableByteCount()
        database.close()
        return Stored(byteCount: byteCount)
    }

    private static func value(of change: RealChange, key: String, previous: UInt64) -> [UInt8] {
        var value = bigEndian(UInt16(key.utf8.count)) + Array(key.utf8) + bigEndian(previous)
        guard let fields = change.fields else { return value }
        var page = Page()
        page.title = Array(fields.title.utf8)
        page.folder = Array(fields.folder.utf8)
        page.text = Array(fields.text.utf8)
        page.lineCount = fields.lines
        page.appendValue(to: &value)
        return value
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import CLMDB
import TidemarkLog

/// The pages of LMDB's file that a commit uses, and their checksums.
extension LMDBEnvironment {
    /// Computes the checks of the newest commit from those of an earlier one.
    ///
    /// Only reads chunks in which a page became used or unused: a page that stays in use is never
    /// written to.
    func makeChecks(_ store: StoreID, after old: ViewChecks?) throws(ViewIndexError) -> ViewChecks {
        let transaction = try beginReading()
        defer { endReading(transaction) }
        let file = try files.openData()
        let pageByteCount = try pageByteCount()
        let metaPages = try files.readMetaPages(file, pageByteCount: pageByteCount)
        let newest = metaPages[Int(transaction.number & 1)]
        guard newest.transaction == transaction.number else {
            throw .damaged(
                "\(path): LMDB is at commit \(transaction.number), its file at "
                    + "\(newest.transaction)"
            )
        }
        let masks = try usedPages(transaction, pageCount: Int(newest.pageCount))
        var chunks: [ViewChecks.Chunk] = []
        chunks.reserveCapacity(masks.count)
        var reader = ChunkReader(files, file, pageByteCount: pageByteCount)
        for (index, used) in masks.enumerated() {
            // This is right only if `old` is of the previous commit, which `LMDBViewIndex.apply`
            // ensures. Over two commits, a page could be freed and used again under an equal mask.
            if let old, index < old.chunks.count, old.chunks[index].used == used {
                chunks.append(old.chunks[index])
            } else {
                chunks.append(
                    ViewChecks.Chunk(used: used, hash: try reader.hash(index, used: used))
                )
            }
        }
        return ViewChecks(
            store: store,
            transaction: transaction.number,
            pageByteCount: pageByteCount,
            metaHashes: metaPages.map(\.hash),
            chunks: chunks
        )
    }

    private func pageByteCount() throws(ViewIndexError) -> Int {
        var figures = MDB_stat()
        let code = mdb_env_stat(handle, &figures)
        guard code == 0 else { throw .lmdb(code, "asking for the length of a page", path) }
        return Int(figures.ms_psize)
    }

    /// Returns the used pages, sixteen per word, without the meta pages: all pages except those in
    /// LMDB's free list, its table 0.
    private func usedPages(
        _ transaction: LMDBReadTransaction,
        pageCount: Int
    ) throws(ViewIndexError) -> [UInt16] {
        let chunkCount = (pageCount + 15) / 16
        var used = [UInt16](repeating: .max, count: chunkCount)
        // Pages 0 and 1 are the meta pages, which are hashed separately.
        used[0] &= ~3
        // The bits after the last page are of no page.
        if pageCount % 16 != 0 { used[chunkCount - 1] &= 1 << UInt16(pageCount % 16) - 1 }
        var opened: OpaquePointer?
        var code = mdb_cursor_open(transaction.handle, 0, &opened)
        guard code == 0, let cursor = opened else {
            throw .lmdb(code, "reading its list of free pages", path)
        }
        defer { mdb_cursor_close(cursor) }
        var key = MDB_val()
        var value = MDB_val()
        code = mdb_cursor_get(cursor, &key, &value, MDB_FIRST)
        while code == 0 {
            // A count, then as many page numbers; after them may follow numbers that LMDB had
            // reserved.
            let numbers = value.bytes
            let count =
                numbers.count < 8 ? 0 : numbers.loadUnaligned(fromByteOffset: 0, as: UInt64.self)
            guard count < UInt64(max(numbers.count / 8, 1)) else {
                throw .damaged("\(path): its list of free pages is cut off")
            }
            for offset in stride(from: 8, through: Int(count) * 8, by: 8) {
                let page = numbers.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
                guard page < UInt64(pageCount) else {
                    throw .damaged("\(path): page \(page) is free, of \(pageCount)")
                }
                used[Int(page) / 16] &= ~(1 << UInt16(page % 16))
            }
            code = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)
        }
        guard code == MDB_NOTFOUND else {
            throw .lmdb(code, "reading its list of free pages", path)
        }
        return used
    }
}

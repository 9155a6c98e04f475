// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import TidemarkLock
package import TidemarkLog

/// Verifying the files with plain reads, before LMDB uses them.
extension ViewFiles {
    /// Verifies all files and returns the checks and the number of the newest commit.
    ///
    /// The newest commit is that of the checks or, if the writer stopped between the two, the next
    /// one.
    ///
    /// Reads all used pages once, at the speed of memory if they are cached.
    package func verify(
        _ store: StoreID
    ) throws(ViewIndexError) -> (checks: ViewChecks, newest: UInt64) {
        let checks = try readChecks()
        guard checks.store == store else {
            throw .damaged("\(self.checks): it belongs to store \(checks.store), not \(store)")
        }
        let file = try openData()
        let newest = try verifyMetaPages(file, checks)
        try verifyChunks(file, checks)
        return (checks, newest)
    }

    /// The number of chunks that a thread verifies before it takes the next ones: 4 MiB of the usual
    /// pages.
    private static let partChunkCount = 64

    /// Verifies all used pages, on each thread that is free; throws the error of the first damaged
    /// chunk.
    private func verifyChunks(
        _ file: any LogFile,
        _ checks: ViewChecks
    ) throws(ViewIndexError) {
        let partCount = (checks.chunks.count + Self.partChunkCount - 1) / Self.partChunkCount
        let found = Lock<(part: Int, error: ViewIndexError)?>(nil)
        DispatchQueue.concurrentPerform(iterations: partCount) { part in
            do throws(ViewIndexError) {
                let start = part * Self.partChunkCount
                let end = min(start + Self.partChunkCount, checks.chunks.count)
                try verifyChunks(start..<end, file, checks)
            } catch {
                found.withLock { first in
                    if first.map({ part < $0.part }) ?? true { first = (part, error) }
                }
            }
        }
        if let error = found.withLock({ $0?.error }) { throw error }
    }

    private func verifyChunks(
        _ indexes: Range<Int>,
        _ file: any LogFile,
        _ checks: ViewChecks
    ) throws(ViewIndexError) {
        var chunk = ChunkReader(self, file, pageByteCount: checks.pageByteCount)
        for index in indexes {
            let expected = checks.chunks[index]
            let found = try chunk.hash(index, used: expected.used)
            guard found == expected.hash else {
                let offset = index * ViewChecks.chunkPageCount * checks.pageByteCount
                throw .damaged(
                    "\(data): at offset \(offset), the checksum of \(expected.used.nonzeroBitCount)"
                        + " pages is \(found), expected \(expected.hash)"
                )
            }
        }
    }

    /// Verifies all files while another process may be writing.
    ///
    /// The writer keeps the checks at most one commit behind, and used pages are unchanged for
    /// longer than that. A mismatch is therefore damage unless the checks changed meanwhile. If
    /// they change faster than they can be verified, the verification by the writer's open counts.
    func verifyWhileWritten(_ store: StoreID) throws(ViewIndexError) {
        for _ in 0..<3 {
            let before = try readChecks()
            do throws(ViewIndexError) {
                _ = try verify(store)
                return
            } catch {
                guard error.reason == .damaged, try readChecks().transaction != before.transaction
                else { throw error }
            }
        }
    }

    /// Returns both meta pages of LMDB's file.
    func readMetaPages(
        _ file: any LogFile,
        pageByteCount: Int
    ) throws(ViewIndexError)
        -> [LMDBMetaPage]
    {
        var pages: [LMDBMetaPage] = []
        var bytes = [UInt8](repeating: 0, count: pageByteCount)
        for index in 0..<2 {
            let count = try translated { () throws(FileError) in
                var span = bytes.mutableSpan
                var raw = span.mutableBytes
                return try file.read(into: &raw, at: UInt64(index * pageByteCount))
            }
            guard let page = LMDBMetaPage(bytes.span.bytes.extracting(0..<count), at: UInt64(index))
            else { throw .damaged("\(data): page \(index) is not one of LMDB's meta pages") }
            pages.append(page)
        }
        return pages
    }

    private func verifyMetaPages(
        _ file: any LogFile,
        _ checks: ViewChecks
    ) throws(ViewIndexError) -> UInt64 {
        let pages = try readMetaPages(file, pageByteCount: checks.pageByteCount)
        // LMDB writes the meta page of a commit whose number is even at page 0, the other at page
        // 1.
        let current = Int(checks.transaction & 1)
        let other = pages[1 - current]
        guard pages[current].transaction == checks.transaction,
            pages[current].hash == checks.metaHashes[current]
        else {
            throw .damaged(
                "\(data): meta page \(current) is of commit \(pages[current].transaction); "
                    + "expected the one of commit \(checks.transaction), unchanged"
            )
        }
        // Commits write the two meta pages alternately. The next commit leaves the current page
        // unchanged, whether or not that commit completed.
        if other.hash == checks.metaHashes[1 - current] { return checks.transaction }
        guard other.transaction == checks.transaction + 1 else {
            throw .damaged(
                "\(data): meta page \(1 - current) is of commit \(other.transaction), "
                    + "which does not go with the checks of commit \(checks.transaction)"
            )
        }
        return other.transaction
    }
}

/// Reads sixteen pages at a time and hashes the used ones.
struct ChunkReader {
    private let files: ViewFiles
    private let file: any LogFile
    private let pageByteCount: Int
    private var buffer: [UInt8]

    init(_ files: ViewFiles, _ file: any LogFile, pageByteCount: Int) {
        self.files = files
        self.file = file
        self.pageByteCount = pageByteCount
        buffer = [UInt8](repeating: 0, count: pageByteCount * ViewChecks.chunkPageCount)
    }

    /// Returns the hash of a chunk: unused pages count as zeros, and a chunk without used pages has
    /// 0.
    mutating func hash(_ index: Int, used: UInt16) throws(ViewIndexError) -> UInt64 {
        if used == 0 { return 0 }
        let offset = index * buffer.count
        // A file may end before the unused pages of the last chunk.
        let wanted = (UInt16.bitWidth - used.leadingZeroBitCount) * pageByteCount
        let count = try read(at: UInt64(offset))
        guard count >= wanted else {
            throw .damaged(
                "\(files.data): it ends at \(offset + count), but pages up to "
                    + "\(offset + wanted) are in use"
            )
        }
        // This also clears what an earlier chunk left in the buffer after the end of a short read:
        // every page after `count` is unused.
        buffer.withUnsafeMutableBytes { [pageByteCount] bytes in
            for page in 0..<ViewChecks.chunkPageCount where used >> page & 1 == 0 {
                bytes[page * pageByteCount..<(page + 1) * pageByteCount].initializeMemory(
                    as: UInt8.self,
                    repeating: 0
                )
            }
        }
        return xxh3(buffer.span.bytes, seed: 0)
    }

    private mutating func read(at offset: UInt64) throws(ViewIndexError) -> Int {
        let (files, file) = (files, file)
        var span = buffer.mutableSpan
        var bytes = span.mutableBytes
        return try files.translated { () throws(FileError) in
            try file.read(into: &bytes, at: offset)
        }
    }
}

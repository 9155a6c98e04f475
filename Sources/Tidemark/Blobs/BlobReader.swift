// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkEvents
import TidemarkLock
import TidemarkLog

/// A blob that is read from start to end, and verified on the way.
///
/// The last bytes are returned only if all bytes match the blob's name. So a caller that has read
/// the end has a sound blob.
package final class BlobReader: Sendable {
    /// Bytes that are well read at once.
    package static let pieceByteCount = 1 << 18

    /// The blob.
    package let blob: BlobID
    /// The bytes of its file.
    package let byteCount: UInt64
    private let file: any LogFile

    private struct Progress {
        var hash = BlobHash()
        var offset: UInt64 = 0
    }

    /// Held while the file is read: one after another take the blob's bytes in their order.
    private let progress = Lock(Progress())

    init(_ blob: BlobID, _ file: any LogFile, byteCount: UInt64) {
        self.blob = blob
        self.file = file
        self.byteCount = byteCount
    }

    deinit {
        file.close()
    }

    /// Reads the next bytes, at most `count`; returns none at the end.
    ///
    /// Throws `damaged` instead of returning the last bytes if the blob's bytes do not match its
    /// name.
    package func next(upTo count: Int) throws(BlobError) -> [UInt8] {
        try progress.withLock { progress throws(BlobError) in
            // An empty blob has one read, which compares its checksum.
            if progress.offset == byteCount, progress.offset > 0 { return [] }
            let bytes = try read(count, at: progress.offset)
            progress.hash.update(bytes.span.bytes)
            progress.offset += UInt64(bytes.count)
            // A read stops short at the file's end alone.
            let isAtEnd = bytes.count < count || progress.offset >= byteCount
            guard !isAtEnd || progress.offset == byteCount && progress.hash.finish() == blob
            else { throw .damaged(blob, path: file.path) }
            return bytes
        }
    }

    /// Throws `damaged` if the file has holes and a length that the blob cannot have.
    ///
    /// A file that was extended can be too long to be read at all. Holes alone prove nothing: some file
    /// systems store zeros as holes.
    func checkLength(_ isPossible: (UInt64) -> Bool) throws(BlobError) {
        let data: Range<UInt64>?
        do throws(FileError) {
            data = try file.dataRange(from: 0)
        } catch {
            throw .file(error)
        }
        if byteCount == 0 || data == 0..<byteCount || isPossible(byteCount) { return }
        throw .damaged(blob, path: file.path)
    }

    /// Reads the rest; throws the errors of ``next(upTo:)``.
    package func readToEnd() throws(BlobError) {
        while try !next(upTo: Self.pieceByteCount).isEmpty {}
    }

    /// Reads at most `count` bytes at an offset, without verification.
    package func read(_ count: Int, at offset: UInt64) throws(BlobError) -> [UInt8] {
        do throws(FileError) {
            var bytes = [UInt8](repeating: 0, count: count)
            var span = bytes.mutableSpan
            var raw = span.mutableBytes
            let found = try file.read(into: &raw, at: offset)
            bytes.removeLast(count - found)
            return bytes
        } catch {
            throw .file(error)
        }
    }
}

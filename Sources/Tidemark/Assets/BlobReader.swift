// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLog

/// A blob that is read from its beginning to its end, and checked on the way.
///
/// The last bytes are handed out only if all of them together are the blob, so whoever takes a
/// blob's end has a sound blob.
package struct BlobReader: ~Copyable {
    /// The blob.
    package let blob: BlobID
    /// The bytes of its file.
    package let byteCount: UInt64
    private let file: any LogFile
    private var hash = BlobHash()
    private var offset: UInt64 = 0

    init(_ blob: BlobID, _ file: any LogFile, byteCount: UInt64) {
        self.blob = blob
        self.file = file
        self.byteCount = byteCount
    }

    deinit {
        file.close()
    }

    /// Reads the next bytes into the beginning of a buffer that is not empty; returns how many, 0 at
    /// the end.
    ///
    /// Throws `damaged` instead of the last bytes if the blob is not what it should be.
    package mutating func next(into buffer: inout [UInt8]) throws(BlobError) -> Int {
        precondition(!buffer.isEmpty, "a blob is read into a buffer that is not empty")
        if offset == byteCount, offset > 0 { return 0 }
        var count = 0
        do throws(FileError) {
            var span = buffer.mutableSpan
            var bytes = span.mutableBytes
            count = try file.read(into: &bytes, at: offset)
        } catch {
            throw .file(error)
        }
        hash.update(buffer.span.bytes.extracting(first: count))
        offset += UInt64(count)
        // A read stops short at the file's end alone.
        let isAtEnd = count < buffer.count || offset >= byteCount
        guard !isAtEnd || offset == byteCount && hash.finish() == blob else {
            throw .damaged(blob, path: file.path)
        }
        return count
    }

    /// Reads bytes from anywhere, unchecked, for a client that asks for a part; returns how many.
    package func read(into buffer: inout MutableRawSpan, at offset: UInt64) throws(BlobError) -> Int
    {
        do throws(FileError) {
            return try file.read(into: &buffer, at: offset)
        } catch {
            throw .file(error)
        }
    }
}

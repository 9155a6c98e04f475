// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The lines of a file, of standard input, or of what `gzip -dc` makes of a file.
final class FileLines: CommitLines {
    private let file: FileHandle
    private let byteCount: Int64
    private var decompressor: ChildProcess?
    private var reader: ByteReader
    private var lineNumber = 0

    /// Opens a file.
    ///
    /// `-` is standard input, and a name that ends in `.gz` is decompressed.
    init(path: String) throws {
        file = try .reading(path)
        var status = stat()
        let isFile = fstat(file.fileDescriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
        byteCount = isFile ? Int64(status.st_size) : 0
        // The child shares our position in the file, which is how we know how far it is.
        decompressor =
            path.hasSuffix(".gz") ? try ChildProcess(["gzip", "-dc"], input: .file(file)) : nil
        reader = ByteReader(decompressor?.outputDescriptor ?? file.fileDescriptor, name: path)
    }

    func next() throws -> ArraySlice<UInt8>? {
        let line = try reader.next(until: UInt8(ascii: "\n"))
        // A last line without an end is whole only if the decompressor has not failed in it.
        if line == nil || !reader.wasDelimited { try finishOnce() }
        if line != nil { lineNumber += 1 }
        return line
    }

    private func finishOnce() throws {
        try decompressor?.finish()
        decompressor = nil
    }

    var place: String { "line \(lineNumber)" }

    var part: Double? {
        guard byteCount > 0 else { return nil }
        return Double(lseek(file.fileDescriptor, 0, SEEK_CUR)) / Double(byteCount)
    }

    let notes: [String] = []
}

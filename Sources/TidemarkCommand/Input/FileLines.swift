// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The lines of a file, of standard input, or of a file that `gzip -dc` decompresses.
final class FileLines: CommitLines {
    private let file: FileHandle
    private let byteCount: Int64
    private var decompressor: ChildProcess?
    private var reader: ByteReader
    private let lineLimit: Int
    private var lineNumber = 0
    /// The line after a blank one, which was read to check if there is one.
    private var held: ArraySlice<UInt8>?

    /// Opens a file.
    ///
    /// `-` is standard input, and a name that ends in `.gz` is decompressed.
    init(path: String, lineLimit: Int = FileLines.lineByteCountLimit) throws {
        self.lineLimit = lineLimit
        file = try .reading(path)
        var status = stat()
        // A pipe has no size, so the progress of standard input shows no part.
        let isFile = fstat(file.fileDescriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
        byteCount = isFile ? Int64(status.st_size) : 0
        // The child shares our position in the file, which is how we know how far it is.
        decompressor =
            path.hasSuffix(".gz") ? try ChildProcess(["gzip", "-dc"], input: .file(file)) : nil
        reader = ByteReader(decompressor?.outputDescriptor ?? file.fileDescriptor, name: path)
    }

    /// Returns the next line.
    ///
    /// Skips a byte order mark before the first line, and blank lines after the last one.
    func next() throws -> ArraySlice<UInt8>? {
        if let held {
            self.held = nil
            place = "line \(lineNumber)"
            return held
        }
        var blankNumber: Int?
        while let line = try nextLine() {
            let text = lineNumber == 1 && line.starts(with: Self.mark) ? line.dropFirst(3) : line
            let isBlank = text.allSatisfy(Self.blanks.contains)
            if let blankNumber, !isBlank {
                // It is not at the end, so it is a line like any other.
                held = ArraySlice(Array(text))
                place = "line \(blankNumber)"
                return []
            }
            guard isBlank else {
                place = "line \(lineNumber)"
                return text
            }
            blankNumber = blankNumber ?? lineNumber
        }
        return nil
    }

    /// The most bytes that a line may have, its end counted: as many as a commit in the log.
    static let lineByteCountLimit = 1 << 30

    /// U+FEFF in UTF-8.
    private static let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
    private static let blanks = [UInt8](" \t\r".utf8)

    private func nextLine() throws -> ArraySlice<UInt8>? {
        let line: ArraySlice<UInt8>?
        do {
            // The limit applies while a line is read, so a file without line ends cannot exhaust
            // the memory.
            line = try reader.next(until: UInt8(ascii: "\n"), limit: lineLimit)
        } catch is ByteReader.PieceTooLong {
            throw CommandError(
                "line \(lineNumber + 1): It has more than \(lineLimit) bytes with its end, the most that a "
                    + "line may have. Check that the file is JSON Lines, with an end of line behind each object."
            )
        }
        // A last line without an end is whole only if the decompressor has not failed in it.
        if line == nil || !reader.wasDelimited { try finishOnce() }
        if line != nil { lineNumber += 1 }
        return line
    }

    private func finishOnce() throws {
        try decompressor?.finish()
        decompressor = nil
    }

    private(set) var place = "line 0"

    var part: Double? {
        // For compressed input too, both numbers count compressed bytes.
        guard byteCount > 0 else { return nil }
        return Double(lseek(file.fileDescriptor, 0, SEEK_CUR)) / Double(byteCount)
    }

    let notes: [String] = []
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// Reads a file forward through one buffer, so that many small structures cost few calls.
struct FileWindow {
    private static let byteCount = 1 << 20

    let file: any LogFile
    /// The file's length when the window was made.
    let fileByteCount: UInt64
    private(set) var bytes: [UInt8] = []
    private var start: UInt64 = 0

    init(_ file: any LogFile) throws(LogError) {
        self.file = file
        fileByteCount = try LogError.wrapping { () throws(FileError) in try file.byteCount() }
    }

    /// Makes a range of the file present and returns where it lies in `bytes`; a range that runs
    /// past the end of the file comes back shorter.
    mutating func range(at offset: UInt64, byteCount: Int) throws(LogError) -> Range<Int> {
        let end = min(offset + UInt64(byteCount), fileByteCount)
        guard offset < end else { return 0..<0 }
        if offset < start || end > start + UInt64(bytes.count) {
            let wanted = max(byteCount, Self.byteCount)
            let count = Int(min(UInt64(wanted), fileByteCount - offset))
            bytes = try file.bytes(at: offset, byteCount: count)
            start = offset
            guard UInt64(bytes.count) >= end - offset else {
                throw LogError(
                    .unreadable,
                    "The file became shorter while it was read. Is another program writing it?",
                    path: file.path,
                    offset: offset
                )
            }
        }
        let lower = Int(offset - start)
        return lower..<lower + Int(end - offset)
    }
}

extension LogFile {
    /// Reads a range; shorter than asked only where the file ends.
    func bytes(at offset: UInt64, byteCount: Int) throws(LogError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: byteCount)
        var failure: FileError?
        var count = 0
        do throws(FileError) {
            var span = bytes.mutableSpan
            var buffer = span.mutableBytes
            count = try read(into: &buffer, at: offset)
        } catch {
            failure = error
        }
        if let failure { throw LogError(failure, offset: offset) }
        bytes.removeLast(byteCount - count)
        return bytes
    }
}

extension LogError {
    /// Runs a file call and turns its failure into one of the log.
    static func wrapping<Result>(
        _ body: () throws(FileError) -> Result
    ) throws(LogError) -> Result {
        do throws(FileError) { return try body() } catch { throw LogError(error) }
    }

    /// A failed file call as a failure of the log: `full` for want of space, else `unreadable`.
    package init(_ error: FileError, offset: UInt64? = nil) {
        self.init(
            error.isOutOfSpace ? .full : .unreadable,
            error.description,
            path: error.path,
            offset: offset,
            cause: error
        )
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// Reads a file forward through one buffer, so that many small structures cost few calls and a long
/// walk no memory.
struct FileWindow {
    private static let byteCount = 1 << 20

    let file: any LogFile
    /// The file's length when the window was made, or when it was found to be shorter than that.
    private(set) var fileByteCount: UInt64
    private(set) var bytes: [UInt8] = []
    /// The part of the file that is in `bytes`.
    private var present: Range<UInt64> = 0..<0

    init(_ file: any LogFile) throws(LogError) {
        self.file = file
        fileByteCount = try LogError.wrapping { () throws(FileError) in try file.byteCount() }
    }

    /// The first range at or behind an offset that may hold other bytes than zeros.
    func dataRange(from offset: UInt64) throws(LogError) -> Range<UInt64>? {
        let file = file
        return try LogError.wrapping(at: offset) { () throws(FileError) in
            try file.dataRange(from: offset)
        }
    }

    /// Makes a range of the file present and returns where it lies in `bytes`; a range that runs
    /// past the end of the file comes back shorter.
    ///
    /// A writer cuts a segment to its length when it seals it, also while it is read.
    mutating func range(at offset: UInt64, byteCount: Int) throws(LogError) -> Range<Int> {
        var end = min(offset + UInt64(byteCount), fileByteCount)
        guard offset < end else { return 0..<0 }
        if offset < present.lowerBound || end > present.upperBound {
            let wanted = max(byteCount, Self.byteCount)
            try fill(Int(min(UInt64(wanted), fileByteCount - offset)), at: offset)
            if end > present.upperBound {
                fileByteCount = present.upperBound
                end = present.upperBound
            }
            guard offset < end else { return 0..<0 }
        }
        let lower = Int(offset - present.lowerBound)
        return lower..<lower + Int(end - offset)
    }

    private mutating func fill(_ count: Int, at offset: UInt64) throws(LogError) {
        if bytes.count != count { bytes = [UInt8](repeating: 0, count: count) }
        present = 0..<0
        let file = file
        var span = bytes.mutableSpan
        var buffer = span.mutableBytes
        let readCount = try LogError.wrapping(at: offset) { () throws(FileError) in
            try file.read(into: &buffer, at: offset)
        }
        present = offset..<offset + UInt64(readCount)
    }
}

extension LogFile {
    /// Reads a range; shorter than asked only where the file ends.
    func bytes(at offset: UInt64, byteCount: Int) throws(LogError) -> [UInt8] {
        // An array without room is the one empty array that all threads share, and even saying that
        // nothing was put into it would be a write.
        if byteCount == 0 { return [] }
        return try LogError.wrapping(at: offset) { () throws(FileError) in
            var failure: FileError?
            let bytes = [UInt8](unsafeUninitializedCapacity: byteCount) { buffer, count in
                do throws(FileError) {
                    let room = UnsafeMutableRawBufferPointer(
                        start: buffer.baseAddress,
                        count: byteCount
                    )
                    count = try read(into: room, at: offset)
                } catch {
                    failure = error
                }
            }
            if let failure { throw failure }
            return bytes
        }
    }

    /// Reads into memory that may hold nothing yet; see ``read(into:at:)``.
    func read(
        into buffer: UnsafeMutableRawBufferPointer,
        at offset: UInt64
    ) throws(FileError) -> Int {
        var span = buffer.mutableBytes
        return try read(into: &span, at: offset)
    }
}

extension LogError {
    /// Runs a file call and turns its failure into one of the log.
    ///
    /// `offset` is where in the file it happened, if that is known.
    package static func wrapping<Result>(
        at offset: UInt64? = nil,
        _ body: () throws(FileError) -> Result
    ) throws(LogError) -> Result {
        do throws(FileError) { return try body() } catch { throw LogError(error, offset: offset) }
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

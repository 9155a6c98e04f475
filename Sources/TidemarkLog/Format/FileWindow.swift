// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// Reads a file forward through one buffer, so that many small structures take few calls, and a
/// long walk takes little memory.
struct FileWindow {
    private static let byteCount = 1 << 20

    let file: any LogFile
    /// The file's length when the window was created, or a shorter length that was found later.
    private(set) var fileByteCount: UInt64
    private(set) var bytes: [UInt8] = []
    /// The part of the file that is in `bytes`.
    private var present: Range<UInt64> = 0..<0

    init(_ file: any LogFile) throws(LogError) {
        self.file = file
        fileByteCount = try LogError.wrapping { () throws(FileError) in try file.byteCount() }
    }

    /// Returns the first range at or after an offset that may hold bytes other than zeros.
    func dataRange(from offset: UInt64) throws(LogError) -> Range<UInt64>? {
        let file = file
        return try LogError.wrapping(at: offset) { () throws(FileError) in
            try file.dataRange(from: offset)
        }
    }

    /// Loads a range of the file and returns its place in `bytes`; the result is shorter if the
    /// range runs past the end of the file.
    ///
    /// A writer truncates a segment when it seals it, even while it is read.
    mutating func range(at offset: UInt64, byteCount: Int) throws(LogError) -> Range<Int> {
        var end = min(offset + UInt64(byteCount), fileByteCount)
        guard offset < end else { return 0..<0 }
        if offset < present.lowerBound || end > present.upperBound {
            let wanted = max(byteCount, Self.byteCount)
            try fill(Int(min(UInt64(wanted), fileByteCount - offset)), at: offset)
            if end > present.upperBound {
                // A short read: a writer has truncated the file. The length is kept, so that later
                // calls end there too.
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
    /// Reads a range; the result is shorter only if the file ends.
    func bytes(at offset: UInt64, byteCount: Int) throws(LogError) -> [UInt8] {
        // An array without capacity is the one empty array that all threads share; even setting its
        // count to zero would be a write.
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

    /// Reads into uninitialized memory; see ``read(into:at:)``.
    func read(
        into buffer: UnsafeMutableRawBufferPointer,
        at offset: UInt64
    ) throws(FileError) -> Int {
        var span = buffer.mutableBytes
        return try read(into: &span, at: offset)
    }
}

extension LogError {
    /// Runs a file call and converts its failure to an error of the log.
    ///
    /// `offset` is the place in the file, if it is known.
    package static func wrapping<Result>(
        at offset: UInt64? = nil,
        _ body: () throws(FileError) -> Result
    ) throws(LogError) -> Result {
        do throws(FileError) { return try body() } catch { throw LogError(error, offset: offset) }
    }

    /// Converts a failed file call: `full` if there is no space, otherwise `unreadable`.
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

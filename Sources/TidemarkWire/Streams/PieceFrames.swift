// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkModel

/// The encoding of an asset's bytes for a client (Docs/formats/wire.md).
///
/// It has pieces, each after its length, and a last word that reports the result.
package enum PieceFrames {
    /// The media type.
    package static let mediaType = "application/vnd.tidemark.pieces"
    static let failed = UInt32.max

    /// Returns the bytes before a piece.
    package static func head(ofPiece byteCount: Int) -> [UInt8] {
        bytes(of: UInt32(truncatingIfNeeded: byteCount))
    }

    /// The bytes after the last piece.
    package static let end: [UInt8] = bytes(of: 0)

    /// Returns the bytes after the last piece if the rest cannot be sent.
    package static func end(_ error: SyncError) throws(SyncError) -> [UInt8] {
        bytes(of: failed) + (try WireCoding.bytes(of: error))
    }

    private static func bytes(of word: UInt32) -> [UInt8] {
        withUnsafeBytes(of: word.littleEndian) { Array($0) }
    }
}

/// A reader of an asset's pieces from bytes that arrive in any chunks.
package struct PieceReader: Sendable {
    /// The outcome of reading on.
    package enum Step: Sendable {
        /// Bytes of the asset.
        case piece([UInt8])
        /// All pieces have arrived.
        case end
        /// More bytes are needed.
        case starved
    }

    private var waiting: ArraySlice<UInt8> = []
    /// The number of bytes of the piece that have not arrived.
    private var left = 0
    private var isFailing = false
    private var hasEnded = false

    /// The most bytes that an error may have.
    private static let errorByteLimit = 1 << 20

    /// Starts without bytes.
    package init() {}

    /// Appends bytes; before, all earlier bytes must have been read.
    package mutating func append(_ bytes: [UInt8]) {
        // At most three bytes wait, the start of a length, except in an error.
        waiting = waiting.isEmpty ? bytes[...] : waiting + bytes
    }

    /// Reads the next step.
    ///
    /// Throws `internalError` for bytes after the end.
    package mutating func next() throws(SyncError) -> Step {
        // An error has no length: it is everything until the body ends, and `finish` reads it.
        if isFailing {
            guard waiting.count <= Self.errorByteLimit else { throw Self.unreadable }
            return .starved
        }
        if hasEnded {
            guard waiting.isEmpty else { throw Self.unreadable }
            return .end
        }
        if left == 0 {
            guard waiting.count >= 4 else { return .starved }
            let word = waiting.prefix(4).reversed().reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            waiting = waiting.dropFirst(4)
            if word == 0 { hasEnded = true }
            // No piece has this length: it would be 4 GiB less one byte.
            if word == PieceFrames.failed { isFailing = true } else { left = Int(word) }
            return try next()
        }
        guard !waiting.isEmpty else { return .starved }
        // A piece is passed on as it arrives. Its announced length, up to 4 GiB, reserves no
        // memory.
        let piece = Array(waiting.prefix(left))
        left -= piece.count
        waiting = waiting.dropFirst(piece.count)
        return .piece(piece)
    }

    /// Checks the end of the stream.
    ///
    /// Throws the error that the other side sent, or an error for a lost connection.
    package func finish() throws(SyncError) {
        if hasEnded { return }
        // Without the last word, the body was cut off, even if it ended between two pieces.
        guard isFailing else {
            throw SyncError(
                .networkFailure,
                "The connection was lost while an asset was being transferred."
            )
        }
        throw SyncError(wire: Array(waiting)) ?? Self.unreadable
    }

    private static let unreadable = SyncError.unreadable("The pieces of an asset cannot be read.")
}

/// The details of an asset that a server sends before the asset's bytes.
package struct DownloadHead: Codable, Hashable, Sendable {
    private var byteCount: UInt64
    private var start: UInt64
    private var end: UInt64
    private var changeTag: RecordChangeTag?

    /// Creates a download.
    package init(_ download: AssetDownload) {
        byteCount = download.byteCount
        start = download.range.lowerBound
        end = download.range.upperBound
        changeTag = download.changeTag
    }

    /// Returns the download with its pieces; `nil` if the head is invalid.
    package func download(
        _ next: @escaping @Sendable () async throws(SyncError) -> [UInt8]?
    ) -> AssetDownload? {
        // The other side sends these numbers, and making a range whose end is before its start
        // traps.
        guard start <= end, end <= byteCount else { return nil }
        return AssetDownload(
            byteCount: byteCount,
            range: start..<end,
            changeTag: changeTag,
            next: next
        )
    }
}

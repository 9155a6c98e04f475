// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Tidemark
import TidemarkModel

/// The bytes of an asset as a file, or on standard input or output.
enum AssetFile {
    private static let pieceByteCount = 1 << 18

    /// Returns the content of a file in pieces; `-` is standard input.
    static func pieces(of path: String) throws -> AsyncThrowingStream<[UInt8], any Error> {
        let file = try FileHandle.reading(path)
        // The closure runs only when a piece is requested, so one piece at a time is in memory.
        return AsyncThrowingStream {
            let piece = try file.read(upToCount: pieceByteCount).map { [UInt8]($0) } ?? []
            return piece.isEmpty ? nil : piece
        }
    }

    /// Writes bytes to standard output.
    static func print(_ pieces: AssetDownload) async throws {
        for try await piece in pieces {
            try writeAll(piece[...], to: STDOUT_FILENO, name: "standard output")
        }
    }

    /// Writes bytes to a new file, which is there only if all of them were right.
    static func write(_ pieces: AssetDownload, to path: String) async throws {
        // `O_EXCL`: a failed download removes the file, which must not be one that was there
        // before.
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL, 0o644)
        guard descriptor >= 0 else {
            throw CommandError(attempt: "\(path) cannot be created", errno)
        }
        defer { close(descriptor) }
        do {
            for try await piece in pieces {
                try writeAll(piece[...], to: descriptor, name: path)
            }
        } catch {
            // The last piece arrives only if the whole asset matches its checksum, so an error may
            // come after nearly all bytes were written.
            unlink(path)
            throw error
        }
    }
}

extension Record {
    /// The asset in a field, which may be a list of them.
    func asset(in field: String, element: Int) throws -> AssetReference {
        let assets: [AssetReference] =
            switch self[field] {
            case .asset(let asset): [asset]
            case .assetList(let list): list
            default: []
            }
        guard assets.indices.contains(element) else {
            throw SyncError.noAsset(recordID, field: field, element: element)
        }
        return assets[element]
    }
}

// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TidemarkAdministration
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

    /// Writes the bytes of an asset to standard output, or to a new file, which is there only if
    /// all of them were right.
    static func write(
        _ call: AssetBytesCall,
        from service: any AdministrationService,
        to path: String?
    ) async throws {
        guard let path else {
            return try await write(call, from: service, to: STDOUT_FILENO, "standard output")
        }
        // `O_EXCL`: a failed download removes the file, which must not be one that was there
        // before.
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL, 0o644)
        guard descriptor >= 0 else {
            throw CommandError(attempt: "\(path) cannot be created", errno)
        }
        defer { close(descriptor) }
        do {
            try await write(call, from: service, to: descriptor, path)
            // An export renames the file, and takes one of that name as complete.
            guard fsync(descriptor) == 0 else {
                throw CommandError(attempt: "\(path) cannot be written", errno)
            }
        } catch {
            // The last piece arrives only if the whole asset matches its checksum, so an error may
            // come after nearly all bytes were written.
            unlink(path)
            throw error
        }
    }

    private static func write(
        _ call: AssetBytesCall,
        from service: any AdministrationService,
        to descriptor: Int32,
        _ name: String
    ) async throws {
        _ = try await service.answer(call) { piece in
            try writeAll(piece.bytes[...], to: descriptor, name: name)
        }
    }
}

extension Record {
    /// The asset in a field, which may be a list of them.
    func asset(in field: String, element: Int) throws -> AssetReference {
        let assets = self[field]?.assets ?? []
        guard assets.indices.contains(element) else {
            throw SyncError.noAsset(recordID, field: field, element: element)
        }
        return assets[element]
    }
}

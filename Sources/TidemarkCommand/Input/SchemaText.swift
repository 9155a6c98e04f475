// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TidemarkModel

/// The text of a schema that the command line names.
struct SchemaText {
    /// The name of the text in errors.
    let name: String
    private let bytes: [UInt8]

    /// The size limit: no schema is nearly that long, so a longer file is not a schema.
    private static let byteCountLimit = 16 << 20
    private static let pieceByteCount = 1 << 16

    /// Reads a file as a whole; `-` is standard input.
    ///
    /// Throws if it is longer than 16 MiB.
    init(path: String) throws {
        name = path == "-" ? "standard input" : path
        let file = try FileHandle.reading(path)
        var read: [UInt8] = []
        do {
            // Standard input has no size, so the limit is checked while it is read.
            while read.count <= Self.byteCountLimit,
                let piece = try file.read(upToCount: Self.pieceByteCount), !piece.isEmpty
            {
                read += piece
            }
        } catch {
            throw CommandError("\(name) cannot be read: \(error.localizedDescription)")
        }
        guard read.count <= Self.byteCountLimit else {
            throw CommandError(
                "\(name) has more than \(Self.byteCountLimit >> 20) MiB, which is the limit for a schema. "
                    + "Name a .ckdb file, as `tidemark schema export` prints it."
            )
        }
        bytes = read
    }

    /// Returns the content of the schema file.
    ///
    /// Throws an error that begins as compilers' errors do, with the file and the place in it.
    func file() throws -> SchemaFile {
        do {
            return try SchemaFile(bytes: bytes[...])
        } catch {
            throw CommandError("\(name):\(error)")
        }
    }
}

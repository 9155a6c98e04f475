// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TidemarkModel

/// The text of a schema that the command line names.
struct SchemaText {
    /// What errors call it.
    let name: String
    private let bytes: [UInt8]

    /// Reads a file as a whole; `-` is standard input.
    init(path: String) throws {
        name = path == "-" ? "standard input" : path
        let file = try FileHandle.reading(path)
        do {
            bytes = Array(try file.readToEnd() ?? Data())
        } catch {
            throw CommandError("\(name) cannot be read: \(error.localizedDescription)")
        }
    }

    /// What it says.
    ///
    /// Throws an error that begins as compilers begin theirs, with the file and the place in it.
    func file() throws -> SchemaFile {
        do {
            return try SchemaFile(bytes: bytes[...])
        } catch {
            throw CommandError("\(name):\(error)")
        }
    }
}

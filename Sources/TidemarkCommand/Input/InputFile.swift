// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation

extension FileHandle {
    /// Opens a file that the command line names; `-` is standard input.
    ///
    /// Throws a `CommandError` also for a folder, which could be opened and not read.
    static func reading(_ path: String) throws -> FileHandle {
        if path == "-" {
            // `occupyStandardDescriptors` opens a closed standard input for writing only.
            guard fcntl(STDIN_FILENO, F_GETFL) & O_ACCMODE != O_WRONLY else {
                throw CommandError(
                    "Standard input is closed. Redirect a file to it, or name the file in place of -."
                )
            }
            return .standardInput
        }
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw CommandError(attempt: "\(path) cannot be opened", errno)
        }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        var status = stat()
        // Checked on the descriptor, so that the check and the reads are of the same file.
        if fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFDIR {
            throw CommandError("\(path) is a folder. Name a file in it.")
        }
        return file
    }
}

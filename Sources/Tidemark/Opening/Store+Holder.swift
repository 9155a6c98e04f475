// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkLog

extension Store {
    /// Returns true if a process has the store in a folder open for writing, or if this cannot be
    /// determined.
    package static func hasWriter(at path: String) -> Bool {
        let files = PosixFileSystem()
        let lock = StoreFolder(path).lock
        do throws(FileError) {
            let file = try files.open(lock, .readWrite)
            defer { file.close() }
            // If no one holds the lock, it is held here until the file is closed. A writer that
            // starts just then finds the store locked.
            return try !file.lock(.exclusive)
        } catch {
            return !error.isMissing
        }
    }
}

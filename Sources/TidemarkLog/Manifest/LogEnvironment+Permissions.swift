// Tidemark
// SPDX-License-Identifier: Apache-2.0

extension LogEnvironment {
    /// Returns the same environment, with new files readable by the users that may read the first
    /// existing store of a list.
    package func permitting(asIn folders: StoreFolder...) throws(LogError) -> LogEnvironment {
        var permitting = self
        permitting.fileSystem = try LogError.wrapping { () throws(FileError) in
            for folder in folders where try fileSystem.exists(folder.segments) {
                return try fileSystem.permitting(asIn: folder.segments)
            }
            return fileSystem
        }
        return permitting
    }
}

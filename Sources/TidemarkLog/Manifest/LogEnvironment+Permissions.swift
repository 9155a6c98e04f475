// Tidemark
// SPDX-License-Identifier: Apache-2.0

extension LogEnvironment {
    /// The same effects, where what is made can be read by those who may read the first of some stores
    /// that is there.
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
